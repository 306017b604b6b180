import { expect, it } from "vitest";
import { assertMayCall, scopesOfTool } from "../../src/task/scopes.ts";
import type { Origin } from "../../src/task/record.ts";

const toolScopes = { send: ["send"], erase: ["send", "erase"] };
const origin: Origin = { capabilities: {}, caller: { scopes: ["send"] }, toolScopes };

it("lets a task call what its caller may call", () => {
  assertMayCall(origin, "send");
  assertMayCall(origin, "free");
  assertMayCall({ capabilities: {} }, "erase");
  expect(scopesOfTool(origin, "erase")).toEqual(["send", "erase"]);
});

it("refuses a call for which its caller's token was not good", () => {
  const refusal = expect.objectContaining({
    code: "insufficient_scope",
    message: 'The caller of this task may not call tool "erase", which needs the scopes send, erase.',
    data: { requiredScopes: ["send", "erase"] },
  }) as Error;
  expect(() => assertMayCall(origin, "erase")).toThrow(refusal);
  expect(() => assertMayCall({ capabilities: {}, toolScopes }, "erase")).toThrow(refusal);
});

it("takes no name for a tool that has rules because every object has it", () => {
  for (const name of ["constructor", "__proto__", "toString"]) assertMayCall(origin, name);
});
