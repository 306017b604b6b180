import { expect, it } from "vitest";
import { Process, text } from "../runtime/harness.ts";

// A server whose slots are all taken for hours must not gather what was called and cancelled meanwhile.
it.each(["cancelled", "expired"])("keeps no place in the queue for a task that was %s there", async (how) => {
  const busy = Promise.withResolvers<void>();
  const started: unknown[] = [];
  const process = await Process.started({
    tools: { blocks: async () => (await busy.promise, text("done")), waits: () => text("waited") },
    options: { concurrency: 1, cancelGraceMs: 0, requestedTtl: "task" },
    before: (call, id) => void (call === "start" && started.push(id)),
  });
  const first = await process.callId("blocks");
  const waiting: string[] = [];
  for (let n = 0; n < 50; n++) {
    const id = await process.callId("waits", how === "expired" ? { ttlMs: 1_000 } : {});
    waiting.push(id);
    if (how === "cancelled") await process.cancel(id);
  }
  if (how === "expired") await process.clock.advance(2_000);
  const last = await process.callId("waits");
  busy.resolve();
  await process.ended(first);
  await process.ended(last);
  expect(waiting.filter((id) => started.includes(id))).toEqual([]);
});
