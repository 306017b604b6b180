import { isInputRequiredResult } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { inputRequiredResult, readRetry } from "../../../src/generation/2026-07-28.ts";

describe("a round", () => {
  it("has its questions by key, and the state [X-B-008]", () => {
    const params = { mode: "form", message: "Name?", requestedSchema: { type: "object", properties: {} } };
    const result = inputRequiredResult(
      [
        { key: "name", method: "elicitation/create", params },
        { key: "__proto__", method: "roots/list", params: {} },
      ],
      "sealed",
    );
    expect(result).toMatchObject({ resultType: "input_required", requestState: "sealed" });
    expect(Object.entries(result.inputRequests)).toEqual([
      ["name", { method: "elicitation/create", params }],
      ["__proto__", { method: "roots/list", params: {} }],
    ]);
    expect(isInputRequiredResult(result)).toBe(true);
  });
});

describe("a retry", () => {
  it("brings state and answers, a first call neither [X-B-009]", () => {
    expect(readRetry({})).toEqual({ requestState: undefined, inputResponses: {} });
    const retry = { requestState: "sealed", inputResponses: { name: { action: "decline" } } };
    expect(readRetry({ name: "greet", ...retry })).toEqual(retry);
  });

  it.each([{ requestState: 1 }, { requestState: null }, { inputResponses: [] }, { inputResponses: null }])(
    "with %j is refused",
    (params) => {
      expect(() => readRetry(params)).toThrow(expect.objectContaining({ code: "invalid_params" }));
    },
  );
});
