import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createQueued } from "../../../src/testing/sample-task.ts";
import { change } from "./change-rows.ts";
import { admin, adminJson, call, kinds, runAdmin, serve, somePlace, type Place } from "./some-place.ts";

/** Postgres would compress a text that repeats itself. */
const text = randomBytes(6_000).toString("base64");

/** A store with 60 tasks that have ended, of which 50 are to be deleted, and with 3 sessions, of which 2 are over. */
async function used(place: Place): Promise<void> {
  const runtime = await serve(place, (tools) =>
    tools.add("work", {}, () => ({ content: [{ type: "text", text }] })),
  );
  for (let calls = 0; calls < 60; calls++) await call(runtime, "work");
  const ended = async (): Promise<unknown> => adminJson(place, "counts");
  await expect.poll(ended).toMatchObject({ tools: [{ completed: 60 }] });
  await runtime.stop();
  await change(place, "UPDATE task SET sweep_at = 1 WHERE id IN (SELECT id FROM task ORDER BY id LIMIT 50)");
  for (const [id, end] of [
    ["a", 1],
    ["b", 2],
    ["c", Date.now() + 60_000],
  ] as const)
    await change(place, `INSERT INTO session (id, expires_at, state) VALUES ('${id}', ${end}, '{}')`);
}

interface Collected {
  readonly tasks: number;
  readonly sessions: number;
  readonly bytes: { readonly before: number; readonly after: number };
  readonly left: string | null;
}

describe.each(kinds)("on %s", (kind) => {
  it("deletes what has expired and makes the file smaller", async () => {
    const place = await somePlace(kind);
    await used(place);
    const done = (await adminJson(place, "gc")) as Collected;
    expect(done).toMatchObject({ tasks: 50, sessions: 2, left: null });
    expect(done.bytes.after).toBeLessThan(done.bytes.before * 0.8);
    expect(await adminJson(place, "counts")).toMatchObject({ tools: [{ completed: 10 }] });
    expect(await admin(place, "gc")).toMatch(
      /^deleted 0 tasks and 0 sessions: [\d.]+ [KM]iB before, [\d.]+ [KM]iB now\n$/,
    );
  });

  it("leaves the free space of a store that a server has open, unless it may make the server wait", async () => {
    const place = await somePlace(kind);
    await used(place);
    const runtime = await serve(place, (tools) => tools.add("work", {}, () => ({ content: [] })));
    const { code, stdout, stderr } = await runAdmin(place, "gc");
    expect([code, stdout, stderr]).toEqual([
      0,
      expect.stringContaining("deleted"),
      expect.stringContaining("--full"),
    ]);
    const done = (await adminJson(place, "gc", "--full")) as Collected;
    expect(done).toMatchObject({ tasks: 0, sessions: 0, left: null });
    expect(done.bytes.after).toBeLessThan(done.bytes.before * 0.8);
    const task = await call(runtime, "work");
    await expect.poll(() => adminJson(place, "show", task)).toMatchObject({ state: "completed" });
  });

  it("deletes messages for webhooks that nobody has sent for a week", async () => {
    const place = await somePlace(kind);
    const store = place.store();
    await store.open({ id: "server", handlers: [] });
    const now = Date.now();
    await store.write({ ...createQueued("old", { notifies: ["gone"] }), now: now - 8 * 86_400_000 });
    await store.write({ ...createQueued("new", { notifies: ["gone"] }), now });
    await store.close();
    expect(await adminJson(place, "gc")).toMatchObject({ deliveries: 1 });
    expect(await adminJson(place, "webhooks")).toMatchObject({ webhooks: [{ webhook: "gone", waiting: 1 }] });
  });
});
