import { expect, it } from "vitest";
import { isJsonObject } from "../../src/generation/message.ts";

it("takes objects and no other JSON value", () => {
  expect(isJsonObject({})).toBe(true);
  for (const other of [null, [], "a", 1, true, undefined]) expect(isJsonObject(other)).toBe(false);
});
