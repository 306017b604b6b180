import { describe, expect, test } from "vitest";
import { missingForInput } from "../../src/task/journal.ts";

const form = { message: "?", requestedSchema: {} };
const url = { mode: "url", message: "?", url: "https://example.com" };

describe("missingForInput", () => {
  test.each([
    ["sampling/createMessage", {}, { sampling: {} }],
    ["roots/list", {}, { roots: {} }],
    ["elicitation/create", form, { elicitation: {} }],
    ["elicitation/create", url, { elicitation: { url: {} } }],
  ] as const)(
    "%s with %j is missing without its capability, whatever else there is",
    (method, params, missing) => {
      expect(missingForInput(method, params, {})).toEqual(missing);
      const others = { sampling: {}, roots: {}, elicitation: {}, experimental: {} };
      const [own = ""] = Object.keys(missing);
      expect(missingForInput(method, params, { ...others, [own]: undefined })).toEqual(missing);
    },
  );

  test.each([
    ["sampling/createMessage", {}, { sampling: {} }],
    ["roots/list", {}, { roots: { listChanged: true } }],
    ["elicitation/create", form, { elicitation: {} }],
    ["elicitation/create", form, { elicitation: { form: {} } }],
    ["elicitation/create", form, { elicitation: { form: {}, url: {} } }],
    ["elicitation/create", { ...form, mode: "form" }, { elicitation: {} }],
    ["elicitation/create", url, { elicitation: { url: {} } }],
  ] as const)("%s with %j can be asked where the client declares %j", (method, params, declared) => {
    expect(missingForInput(method, params, declared)).toBeUndefined();
  });

  test("a client that names its modes can do no other", () => {
    const onlyUrl = { elicitation: { url: {} } };
    const onlyForm = { elicitation: { form: {} } };
    expect(missingForInput("elicitation/create", form, onlyUrl)).toEqual({ elicitation: { form: {} } });
    expect(missingForInput("elicitation/create", url, onlyForm)).toEqual({ elicitation: { url: {} } });
    expect(missingForInput("elicitation/create", url, { elicitation: {} })).toEqual({
      elicitation: { url: {} },
    });
  });
});
