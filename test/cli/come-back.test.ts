import { expect, it } from "vitest";
import { comeBackTo } from "../../src/cli/command/come-back.ts";

it("tells what to type, in which neither a shell nor a terminal finds a command", () => {
  expect(comeBackTo("a1")).toBe("holdfast watch a1");
  expect(comeBackTo("a\u001b[2J\nb$(x)", "node s.js")).toBe("holdfast watch 'a b$(x)' --server 'node s.js'");
});
