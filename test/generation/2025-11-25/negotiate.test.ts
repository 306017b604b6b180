import { ServerTaskCapabilitiesV1Schema } from "@modelcontextprotocol/ext-tasks/core/v1";
import { ServerTasksCapabilitySchema, ToolExecutionSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import {
  clientCancels,
  declaresTasks,
  executionOf,
  serverCancels,
  serverLists,
  serverTakesTasks,
  serverTasksCapability,
  takesTasks,
} from "../../../src/generation/2025-11-25.ts";

const noObjects = [true, false, null, 1, "yes", [], [{}], undefined];

describe("what a server declares", () => {
  it("is objects all the way down [C-005]", () => {
    const tasks = serverTasksCapability({ list: true });
    expect(tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } });
    expect(ServerTasksCapabilitySchema.parse(tasks)).toEqual(tasks);
    expect(ServerTaskCapabilitiesV1Schema.parse(tasks)).toEqual(tasks);
  });

  it("has no list where callers are not told apart [C-005]", () => {
    expect(serverTasksCapability({ list: false })).not.toHaveProperty("list");
  });

  it("is read back as it was meant", () => {
    for (const list of [true, false]) {
      const capabilities = { tools: {}, tasks: serverTasksCapability({ list }) };
      expect(serverTakesTasks(capabilities)).toBe(true);
      expect(serverCancels(capabilities)).toBe(true);
      expect(serverLists(capabilities)).toBe(list);
    }
  });

  it.each(noObjects)("is nothing where a leaf is %j [C-005]", (leaf) => {
    const tasks = { list: leaf, cancel: leaf, requests: { tools: { call: leaf } } };
    expect(serverTakesTasks({ tasks })).toBe(false);
    expect(serverLists({ tasks })).toBe(false);
    expect(serverCancels({ tasks })).toBe(false);
  });

  it("may be requests alone [C-D-007]", () => {
    const capabilities = { tasks: { requests: { tools: { call: {} } } } };
    expect(serverTakesTasks(capabilities)).toBe(true);
    expect(serverLists(capabilities)).toBe(false);
    expect(serverCancels(capabilities)).toBe(false);
  });
});

describe("what a client declares", () => {
  const everything = {
    tasks: {
      list: {},
      cancel: {},
      requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
    },
  };

  it("is read in full [C-006]", () => {
    expect(declaresTasks(everything)).toBe(true);
    expect(takesTasks(everything, "sampling/createMessage")).toBe(true);
    expect(takesTasks(everything, "elicitation/create")).toBe(true);
    expect(clientCancels(everything)).toBe(true);
  });

  it("takes only what it names [C-009 C-D-007]", () => {
    const capabilities = { sampling: {}, tasks: { requests: { elicitation: { create: {} } } } };
    expect(takesTasks(capabilities, "elicitation/create")).toBe(true);
    expect(takesTasks(capabilities, "sampling/createMessage")).toBe(false);
    expect(takesTasks({ tasks: { requests: { sampling: {} } } }, "sampling/createMessage")).toBe(false);
    expect(clientCancels(capabilities)).toBe(false);
  });

  it.each(noObjects)("is nothing where it says %j [C-006 C-009]", (value) => {
    expect(declaresTasks({ tasks: value })).toBe(false);
    for (const tasks of [
      value,
      { requests: value },
      { requests: { elicitation: value } },
      { requests: { elicitation: { create: value } } },
    ]) {
      expect(takesTasks({ tasks }, "elicitation/create")).toBe(false);
    }
    expect(clientCancels({ tasks: { cancel: value } })).toBe(false);
  });

  it("is not what every object has", () => {
    expect(
      takesTasks(
        { tasks: { requests: Object.create({ sampling: { createMessage: {} } }) } },
        "sampling/createMessage",
      ),
    ).toBe(false);
  });

  it("is not the extension of another revision", () => {
    expect(declaresTasks({ extensions: { "io.modelcontextprotocol/tasks": {} } })).toBe(false);
  });
});

it.each(["required", "optional", "forbidden"] as const)(
  "says %s in the definition of a tool [A-34]",
  (mode) => {
    expect(executionOf(mode)).toEqual({ taskSupport: mode });
    expect(ToolExecutionSchema.parse(executionOf(mode))).toEqual({ taskSupport: mode });
  },
);
