import { expect, it } from "vitest";
import { watchCommand } from "../../src/cli/arguments/words.ts";

it("sanitizes and quotes the server's ids in suggested commands", () => {
  expect(watchCommand("a1")).toBe("holdfast watch a1");
  expect(watchCommand("a\u001b[2J\nb$(x)", "node s.js")).toBe(
    "holdfast watch 'a b$(x)' --server 'node s.js'",
  );
});
