import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { nestedRequest } from "../../../src/generation/sep-1686.ts";

const form = { mode: "form", message: "Size?", requestedSchema: { type: "object", properties: {} } };
const related = { "modelcontextprotocol.io/related-task": { taskId: "mine" } };
const task = { "modelcontextprotocol.io/task": { taskId: "theirs", keepAlive: 5 } };

it("says whose question it is [S-057 S-061 S-062]", () => {
  const request = nestedRequest("elicitation/create", form, "mine");
  expect(request).toEqual({ method: "elicitation/create", params: { ...form, _meta: related } });
  expect(ElicitRequestSchema.parse(request)).toEqual(request);
});

it("keeps the _meta of its author, who cannot pass it off as another task's", () => {
  const _meta = { mark: 1, "modelcontextprotocol.io/related-task": { taskId: "another" } };
  expect(nestedRequest("roots/list", { _meta }, "mine").params).toEqual({ _meta: { mark: 1, ...related } });
});

it("can ask for a task on the other side [S-002]", () => {
  const { params } = nestedRequest("elicitation/create", form, "mine", { taskId: "theirs", keepAliveMs: 5 });
  expect(params).toEqual({ ...form, _meta: { ...task, ...related } });
});

it("asks for no task of its own accord", () => {
  expect(nestedRequest("elicitation/create", { ...form, _meta: task }, "mine").params["_meta"]).toEqual(
    related,
  );
});
