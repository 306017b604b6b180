import { expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { Process } from "./harness.ts";
import { Failing } from "./watched-store.ts";

it("one task whose end of life cannot be written costs a write every 5 s, no more", async () => {
  const failing = new Failing("expire", 1_000);
  const process = await Process.started({
    tools: { hangs: () => new Promise(() => undefined) },
    options: { ttlMs: 1_000 },
    before: failing.before,
  });
  await process.callId("hangs");
  await process.clock.advance(1_000);
  await rest();
  expect(failing.hits).toBeLessThan(3);
});
