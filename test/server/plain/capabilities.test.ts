import { expect, it } from "vitest";
import { askable, lacking } from "../../../src/server/plain/plain-policies.ts";
import type { Tool } from "../../../src/runtime/tool/tool.ts";

it("lets the model stand in for forms and sampling, with tickets only", () => {
  const tool = { requires: ["elicitation", "sampling", "roots"] } as unknown as Tool;
  expect(lacking(tool, {}, "wait")).toEqual(["elicitation", "sampling", "roots"]);
  expect(lacking(tool, {}, "ticket")).toEqual(["roots"]);
  expect(lacking(tool, {}, undefined)).toEqual(["elicitation", "sampling", "roots"]);
  expect(askable({}, "wait")).toEqual({});
  expect(askable({ elicitation: { url: {} } }, "ticket")).toEqual({
    elicitation: { url: {}, form: {} },
    sampling: {},
  });
  expect(askable({ elicitation: {}, sampling: { tools: {} } }, "ticket")).toEqual({
    elicitation: {},
    sampling: { tools: {} },
  });
});
