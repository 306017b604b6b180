import { describe, expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, Process, text, type Handler, type Setup } from "./harness.ts";
import { Held } from "./watched-store.ts";

const never = new Promise<never>(() => undefined);
const hangs: Handler = () => never;

/** The next process of a server that crashed with `count` tasks of `hangs`, after `downMs`. */
async function afterCrash(
  count: number,
  downMs: number,
  setup: Omit<Setup, "tools">,
  handler: Handler = hangs,
): Promise<{ ids: string[]; next: Process }> {
  const first = await Process.started({ tools: { hangs }, options: { ttlMs: 60_000, concurrency: count } });
  const ids = await Promise.all(Array.from({ length: count }, () => first.callId("hangs")));
  first.clock.jump(downMs);
  return {
    ids,
    next: await first.crash({ tools: { hangs: { config: { onCrash: "resume" }, handler } }, ...setup }),
  };
}

describe("tasks that expired while the server was down", () => {
  it("are ended in the background, and never run", async () => {
    const due = new Held("due");
    const runs: string[] = [];
    const handler: Handler = (_, task) => (runs.push(task.id), text("ran"));
    const { ids, next } = await afterCrash(3, 60_000, { before: due.before }, handler);
    due.open();
    await rest();
    for (const id of ids) expect((await next.store.get(id))?.state).toBe("settled");
    expect([runs, next.errors]).toEqual([[], []]);
    await next.runtime.stop();
  });

  it("are not shown as alive before they are [A-30]", async () => {
    const due = new Held("due");
    const { ids, next } = await afterCrash(3, 60_000, { before: due.before });
    const [asked = "", ...listed] = ids;
    const ended = await next.get(asked);
    expect([ended.task.state, bodyOf(ended)]).toMatchObject(["settled", { code: -32603 }]);
    for (const id of listed) expect((await next.store.get(id))?.state).toBe("running"); // no sweep has come to it
    const page = await next.runtime.list(nobody, { limit: 9 });
    expect(page.map(({ state }) => state)).toEqual(["settled", "settled", "settled"]);
    due.open();
    await next.runtime.stop();
  });
});

it("a call that is repeated finds its expired task ended, before it is swept [A-48]", async () => {
  const due = new Held("due");
  const setup = { tools: { hangs }, before: due.before };
  const first = await Process.started({ tools: { hangs }, options: { ttlMs: 60_000 } });
  const call = {
    ...nobody,
    tool: "hangs",
    arguments: {},
    origin: { capabilities: {} },
    idempotencyKey: "k".repeat(22),
  };
  const made = await first.runtime.create(call);
  first.clock.jump(60_000);
  const next = await first.crash(setup);
  const { task, outcome } = await next.runtime.create(call);
  expect([task.id, task.state, outcome?.kind]).toEqual([made.task.id, "settled", "error"]);
  due.open();
  await next.runtime.stop();
});
