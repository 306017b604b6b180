import { expect, it } from "vitest";
import { completed, created, sent, working } from "./answers.ts";
import { setUp } from "./setup.ts";

const day = 24 * 3_600_000;

it.each([-day, day])("a machine's clock that is set by %d ms makes no wait longer", async (byMs) => {
  const { server, client, clock } = await setUp();
  server.script("tools/call", created({ ttlMs: null }));
  server.script(
    "tasks/get",
    working({ ttlMs: null }),
    { status: 503, headers: { "retry-after": "60" } },
    completed(),
  );
  clock.hold();
  const call = client.callTool("publish_report");
  for (const ms of [2000, 2000, 60_000]) {
    const nap = await clock.nap();
    expect(nap.ms).toBe(ms);
    clock.set(byMs);
    nap.wake();
  }
  expect(await call).toEqual(sent);
});

it("a machine's clock that is set ahead ends no task's life", async () => {
  const { server, client, clock } = await setUp();
  server.script("tools/call", created({ ttlMs: 60_000 }));
  server.script("tasks/get", { status: 503 }, completed());
  clock.hold();
  const call = client.callTool("publish_report");
  const nap = await clock.nap();
  clock.set(day);
  clock.release();
  nap.wake();
  expect(await call).toEqual(sent);
});
