import { CreateMessageRequestSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { nestedRequest, relatedTaskOf } from "../../../src/generation/2025-11-25.ts";

const form = { mode: "form", message: "Size?", requestedSchema: { type: "object", properties: {} } };
const prompt = { messages: [{ role: "user", content: { type: "text", text: "Hi" } }], maxTokens: 5 };

it("says whose question it is [C-092 C-099]", () => {
  const request = nestedRequest("elicitation/create", form, "task-a");
  expect(request).toEqual({
    method: "elicitation/create",
    params: { ...form, _meta: { "io.modelcontextprotocol/related-task": { taskId: "task-a" } } },
  });
  expect(ElicitRequestSchema.parse(request)).toEqual(request);
  expect(nestedRequest("roots/list", {}, "task-a").params).toHaveProperty("_meta");
});

it("keeps the _meta of its author, who cannot pass it off as another task's [C-099]", () => {
  const _meta = { mark: 1, "io.modelcontextprotocol/related-task": { taskId: "another" } };
  const { params } = nestedRequest("elicitation/create", { ...form, _meta }, "task-a");
  expect(params).toMatchObject({ _meta: { mark: 1 } });
  expect(relatedTaskOf(params)).toBe("task-a");
});

it.each([{}, { ttl: 60_000 }])("can ask for a task, with %j [C-020]", (task) => {
  const request = nestedRequest("sampling/createMessage", prompt, "task-a", task);
  expect(request.params).toMatchObject({ ...prompt, task });
  expect(CreateMessageRequestSchema.parse(request)).toEqual(request);
});

it("asks for no task of its own accord", () => {
  const { params } = nestedRequest("sampling/createMessage", { ...prompt, task: { ttl: 1 } }, "task-a");
  expect(params).not.toHaveProperty("task");
});
