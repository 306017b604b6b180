import { expect, test } from "vitest";
import { runChild } from "../store/sqlite/child.ts";

const program = new URL("./unheeded-calls.ts", import.meta.url);

// Node ends a process over a rejection that nobody handles: that one forgotten `await` of an author must not cost
// every task of the server.
test.each([
  "ownership is lost",
  "the task is cancelled",
  "the task expires",
  "the server stops",
  "the handler has returned",
  "the handler has thrown",
  "a context is used after its handler returned",
])("calls that nobody awaits do not end the process when %s", async (scenario) => {
  const child = runChild(program, [scenario]);
  expect(await child.line()).toBe("alive");
});
