import { expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { Process, text } from "./harness.ts";
import { storeFailed } from "./watched-store.ts";

it("stop ends although a task's request cannot be read", async () => {
  const process = await Process.started({
    tools: { t: () => text("x") },
    before: (c) => {
      if (c === "request") throw storeFailed();
    },
  });
  await process.callId("t");
  await rest();
  let stopped = false;
  void process.runtime.stop().then(() => {
    stopped = true;
  });
  await process.clock.advance(600_000);
  expect(stopped).toBe(true);
});
