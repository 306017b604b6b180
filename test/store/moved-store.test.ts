import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { dumpStore, loadStore } from "../../src/store/data-care.ts";
import { encryptedStore } from "../../src/store/encrypted-store.ts";
import { placeOfStore, storeFromUrl, type StorePlace } from "../../src/store/from-url.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { isTerminal } from "../../src/task/outcome.ts";
import { folder } from "../cli/run-cli.ts";
import { someOwner } from "./sqlite/some-owner.ts";
import { ann, somePlace, type Kind } from "../cli/admin/some-place.ts";

const { signal } = new AbortController();
const keys = [{ id: "k", key: Buffer.alloc(32, 3) }];
const question = { message: "go on?", requestedSchema: { type: "object", properties: {} } } as const;
const hour = 3_600_000;

/** How often each step of each task ran, over all stores: by `id step`. */
type Runs = Map<string, number>;

interface Where {
  readonly place: StorePlace;
  store(): TaskStore;
}

async function newPlace(kind: Kind, isEncrypted: boolean): Promise<Where> {
  const { url } = await somePlace(kind);
  const store = (): TaskStore =>
    isEncrypted ? encryptedStore(storeFromUrl(url), { keys }) : storeFromUrl(url);
  return { place: placeOfStore(url, (path) => path), store };
}

/**
 * A server. With `blocks`, what is in steps does not come further. Except at the first place, it is hours later where the store goes by the
 * clock of its processes.
 */
async function serve(
  where: Where,
  runs: Runs,
  { blocks = false, isFirst = false }: { readonly blocks?: boolean; readonly isFirst?: boolean } = {},
): Promise<Runtime> {
  const registry = new Registry();
  const ran = (id: string, step: string) => (): string => {
    runs.set(`${id} ${step}`, (runs.get(`${id} ${step}`) ?? 0) + 1);
    return id;
  };
  const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });
  registry.add("asks", {}, async (_, task) => {
    const { action } = await task.elicit("q", question);
    return text(`${action} ${await task.step("last", ran(task.id, "last"))}`);
  });
  registry.add("sleeps", {}, async (_, task) => {
    await task.sleep("nap", hour);
    return text(await task.step("last", ran(task.id, "last")));
  });
  registry.add("steps", { concurrency: 16 }, async (_, task) => {
    await task.step("first", ran(task.id, "first"));
    await task.log("info", "in the middle");
    if (blocks) await new Promise((_resolve, reject) => task.signal.addEventListener("abort", reject));
    return text(await task.step("last", ran(task.id, "last")));
  });
  registry.add("leaf", {}, async (_, task) => {
    await task.step("first", ran(task.id, "first"));
    return text(String(await task.waitForEvent("go", "go")));
  });
  registry.add("trees", {}, async (_, task) => {
    const { content } = await task.call("leaf", "leaf");
    await task.step("last", ran(task.id, "last"));
    return { content };
  });
  registry.add("keyed", {}, async (_, task) =>
    text(`${String(await task.waitForEvent("go", "go"))} ${await task.step("last", ran(task.id, "last"))}`),
  );
  const aheadMs = where.place.kind === "sqlite" && !isFirst ? 2 * hour : 0;
  const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
  const options = {
    stopDeadlineMs: 1_000,
    maxParkedFrames: 0,
    maxUnfinished: null,
    maxUnfinishedPerPrincipal: null,
  };
  const runtime = createRuntime({ store: where.store(), registry, clock, options });
  await runtime.start();
  onTestFinished(() => runtime.stop());
  return runtime;
}

const origin = { capabilities: { elicitation: {} }, session: "s1", requestId: 7 };

async function create(runtime: Runtime, tool: string, count: number): Promise<readonly string[]> {
  const made: string[] = [];
  for (let n = 0; n < count; n++) {
    const idempotencyKey = tool === "keyed" ? { idempotencyKey: `key-${n}` } : {};
    const call = { ...ann, tool, arguments: { n }, origin, ...idempotencyKey };
    made.push((await runtime.create(call)).task.id);
  }
  return made;
}

async function waiting(runtime: Runtime, count: number): Promise<void> {
  const found = async (): Promise<number> => {
    const tasks = await runtime.store.unfinished("", 2_000);
    return tasks.filter((task) => task.waiting).length;
  };
  await expect.poll(found, { timeout: 60_000, interval: 100 }).toBe(count);
}

/** The children of trees, by the ids of their roots. */
async function leaves(runtime: Runtime): Promise<ReadonlyMap<string, string>> {
  const tasks = await runtime.store.unfinished("", 3_000);
  return new Map(tasks.flatMap(({ id, parent }) => (parent === null ? [] : [[parent.id, id]])));
}

async function goOn(runtime: Runtime, tool: string, ids: readonly string[]): Promise<void> {
  const children = tool === "trees" ? await leaves(runtime) : undefined;
  for (const id of ids) {
    if (tool === "asks")
      await runtime.answer(id, ann, [{ key: "q", value: '{"action":"accept","content":{}}' }]);
    else await runtime.sendEvent(children?.get(id) ?? id, { name: "go", value: "went" });
  }
}

async function endOf(runtime: Runtime, id: string): Promise<unknown> {
  await expect
    .poll(async () => isTerminal((await runtime.get(id, ann)).task.state), { timeout: 60_000, interval: 50 })
    .toBe(true);
  return JSON.parse((await runtime.get(id, ann)).outcome?.body ?? "null");
}

const text = (said: string): unknown => ({ content: [{ type: "text", text: said }] });

const expected: Readonly<Record<string, (id: string) => unknown>> = {
  asks: (id) => text(`accept ${id}`),
  sleeps: text,
  steps: text,
  trees: () => text("went"),
  keyed: (id) => text(`went ${id}`),
};

const room = { ofPrincipal: 9, total: 9 };
const session = {
  id: "s1",
  principal: "ann",
  expiresAt: systemClock.now() + 5 * hour,
  state: '{"level":"info"}',
};

it.each<[Kind, Kind, string, boolean]>([
  ["SQLite", "Postgres", "in clear", false],
  ["Postgres", "SQLite", "encrypted", true],
])(
  "1,000 unfinished tasks move from %s to %s and back, %s, and each ends once",
  { timeout: 300_000 },
  async (here, elsewhere, _how, isEncrypted) => {
    const cwd = await folder();
    const file = (name: string): string => join(cwd, name);
    const [a, b, c] = [
      await newPlace(here, isEncrypted),
      await newPlace(elsewhere, isEncrypted),
      await newPlace(here, isEncrypted),
    ];
    const setup = { now: systemClock.now(), since: undefined, signal };
    const runs: Runs = new Map();
    const ids: Record<string, readonly string[]> = {};

    const first = await serve(a, runs, { blocks: true, isFirst: true });
    for (const tool of ["asks", "sleeps", "trees", "keyed"]) ids[tool] = await create(first, tool, 200);
    await waiting(first, 1_000); // with the leaves
    ids["steps"] = await create(first, "steps", 200);
    await first.sessions?.put(session, room);
    const secret = await first.secret("request-state");
    // While the server runs, and after that only what changed.
    await dumpStore(a.place, file("first"), setup);
    const parts = (from: number, to?: number) =>
      ["asks", "trees", "keyed"].map((tool) => [tool, ids[tool]?.slice(from, to) ?? []] as const);
    for (const [tool, some] of parts(0, 20)) {
      await goOn(first, tool, some);
      for (const id of some) expect(await endOf(first, id)).toEqual(expected[tool]?.(id));
    }
    const [gone = ""] = ids["asks"] ?? [];
    await first.delete(gone, ann);
    ids["asks"] = [...(ids["asks"] ?? []), ...(await create(first, "asks", 5))];
    const eventBefore = ids["keyed"]?.at(-1) ?? "";
    await first.store.write({
      type: "send_event",
      now: systemClock.now(),
      id: eventBefore,
      name: "later",
      value: "1",
      dedupeId: "d",
      limit: 9,
    });
    const all = await first.store.unfinished("", 3_000);
    await first.stop();

    await loadStore(b.place, file("first"), { beside: false, partial: true, signal });
    await expect(serve(b, runs)).rejects.toMatchObject({
      code: "store_locked",
      message: expect.stringContaining("is not complete"),
    });
    const second = await dumpStore(a.place, file("second"), { ...setup, since: file("first") });
    expect(second.changed).toBeLessThan(second.tasks / 2);
    await loadStore(b.place, file("second"), { beside: false, partial: false, signal });

    const looked = b.store();
    await looked.open(someOwner());
    expect((await looked.unfinished("", 3_000)).map(({ id }) => id)).toEqual(all.map(({ id }) => id));
    await looked.close();
    const there = await serve(b, runs, { blocks: true });
    await expect(there.get(gone, ann)).rejects.toMatchObject({ code: "unknown_task" });
    expect(await there.secret("request-state")).toEqual(secret);
    expect(await there.sessions?.get("s1")).toEqual(session);
    expect((await there.sessions?.tasksOf("s1", 9, 7))?.length).toBe(9);
    expect(await there.sendEvent(eventBefore, { name: "later", dedupeId: "d" })).toBe(false);
    const [again] = await create(there, "keyed", 1);
    expect(again).toBe(ids["keyed"]?.[0]);
    for (const [tool, some] of parts(20, 100)) {
      await goOn(there, tool, some);
      for (const id of some) expect(await endOf(there, id)).toEqual(expected[tool]?.(id));
    }
    await there.stop();

    await dumpStore(b.place, file("third"), setup);
    await loadStore(c.place, file("third"), { beside: false, partial: false, signal });
    const back = await serve(c, runs);
    for (const [tool, some] of parts(100)) await goOn(back, tool, some);
    ids["asks"] = ids["asks"].slice(1); // one was deleted
    for (const [tool, some] of Object.entries(ids))
      for (const id of some) expect([tool, await endOf(back, id)]).toEqual([tool, expected[tool]?.(id)]);
    const lasts = new Map(Object.values(ids).flatMap((some) => some.map((id) => [`${id} last`, 1])));
    expect(new Map([...runs].filter(([name]) => name.endsWith(" last") && !name.startsWith(gone)))).toEqual(
      lasts,
    );
    expect([...runs].filter(([, count]) => count !== 1)).toEqual([]);
    const lines = await back.lines(ids["steps"]?.[0] ?? "", ann, { list: "log", after: 0, limit: 9 });
    expect(lines.length).toBeGreaterThan(0);
    expect(await back.store.unfinished("", 9)).toEqual([]);
  },
);
