import { ClientCapabilitiesSchema, ServerCapabilitiesSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import {
  clientTasksCapability,
  declaresTask,
  requestMethods,
  serverTasksCapability,
} from "../../../src/generation/sep-1686.ts";

it("says of each request type of each category whether it takes tasks [S-003]", () => {
  const tasks = serverTasksCapability(requestMethods);
  expect(tasks).toEqual({ tools: { call: true }, resources: { read: true }, prompts: { get: true } });
  expect(ServerCapabilitiesSchema.parse({ tasks })).toBeDefined();
  for (const method of requestMethods) expect(declaresTask({ tasks }, method)).toBe(true);
  expect(declaresTask({ tasks }, "elicitation/create")).toBe(false);
});

it("names what a client takes, and nothing else [S-003]", () => {
  expect(clientTasksCapability([])).toEqual({});
  const tasks = clientTasksCapability(["elicitation/create", "sampling/createMessage"]);
  expect(tasks).toEqual({ elicitation: { create: true }, sampling: { createMessage: true } });
  expect(ClientCapabilitiesSchema.parse({ tasks })).toBeDefined();
  expect(declaresTask({ tasks }, "elicitation/create")).toBe(true);
  expect(
    declaresTask({ tasks: clientTasksCapability(["elicitation/create"]) }, "sampling/createMessage"),
  ).toBe(false);
});

it("is read with a level around the categories too, as a later text had it [S-003]", () => {
  expect(declaresTask({ tasks: { requests: { tools: { call: true } } } }, "tools/call")).toBe(true);
});

it.each([{}, false, 1, "yes", null, [], undefined])(
  "is not declared by %j, which is what another revision means [S-003]",
  (value) => {
    expect(declaresTask({ tasks: value }, "tools/call")).toBe(false);
    expect(declaresTask({ tasks: { requests: value } }, "tools/call")).toBe(false);
    expect(declaresTask({ tasks: { requests: { tools: value } } }, "tools/call")).toBe(false);
    expect(declaresTask({ tasks: { requests: { tools: { call: value } } } }, "tools/call")).toBe(false);
    expect(declaresTask({ tasks: { tools: { call: value } } }, "tools/call")).toBe(false);
  },
);
