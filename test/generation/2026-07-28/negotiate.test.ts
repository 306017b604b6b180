import { expect, it } from "vitest";
import {
  declaresTasks,
  extensionId,
  missingCapabilities,
  readCapabilities,
  tasksCapability,
} from "../../../src/generation/2026-07-28.ts";

const key = "io.modelcontextprotocol/clientCapabilities";

it("reads the capabilities of this request [X-002]", () => {
  const declared = { elicitation: {}, ...tasksCapability };
  expect(readCapabilities({ _meta: { [key]: declared } })).toEqual(declared);
});

it.each([
  undefined,
  null,
  5,
  [],
  {},
  { _meta: [] },
  { _meta: {} },
  { _meta: { [key]: "all" } },
  { _meta: { [key]: [] } },
])("reads none from %j [X-B-003]", (params) => {
  expect(readCapabilities(params)).toBeUndefined();
});

it("takes the declared extension, with or without settings [X-001]", () => {
  expect(declaresTasks(tasksCapability)).toBe(true);
  expect(declaresTasks({ extensions: { [extensionId]: { later: 1 }, other: {} } })).toBe(true);
});

it.each([
  {},
  { tasks: { requests: { tools: { call: {} } } } },
  { extensions: null },
  { extensions: [extensionId] },
  { extensions: { [extensionId]: true } },
  { extensions: { [extensionId]: null } },
  { [extensionId]: {} },
])("does not take %j for it [X-006 X-P-014]", (capabilities) => {
  expect(declaresTasks(capabilities)).toBe(false);
});

it("names what is missing in the form in which it is declared [X-B-011]", () => {
  expect(missingCapabilities(["elicitation", "sampling"], { elicitation: {} })).toEqual({ sampling: {} });
  expect(missingCapabilities(["elicitation"], { elicitation: { form: {} } })).toBeUndefined();
  expect(missingCapabilities([], {})).toBeUndefined();
});
