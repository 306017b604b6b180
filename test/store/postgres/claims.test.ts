import { expect, onTestFinished, test } from "vitest";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import type { StoreChanges, TaskStore } from "../../../src/store/store.ts";
import { aHandler, createQueued, noon } from "../../../src/testing/sample-task.ts";
import { noTurns, withTurn, type Turns } from "../../../src/task/queue.ts";
import { FreshSchema } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";

async function openStore(fresh: FreshSchema, id: string): Promise<TaskStore> {
  const store = postgresStore(fresh.url, { schema: fresh.schema });
  await store.open({ id, handlers: [aHandler] });
  onTestFinished(() => store.close());
  return store;
}

test("a task that somebody has locked is passed by, and looked for again", async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  const store = await openStore(fresh, "one");
  onTestFinished(() => fresh.drop());
  for (const name of ["a", "b"]) await store.write(createQueued(name));
  const looks: StoreChanges[] = [];
  const claim = { type: "claim", now: noon, handlers: [aHandler], tokens: ["t1", "t2"] } as const;
  await withClient(fresh.url, async (client) => {
    await client.query("BEGIN");
    await client.query(`SELECT 1 FROM ${fresh.schema}.task WHERE id = 'task-a' FOR UPDATE`);
    const told = Promise.withResolvers<void>();
    store.subscribe((changes, by) => {
      if (by === "others") looks.push(changes);
      if (by === "others") told.resolve();
    });
    expect(await store.write(claim)).toMatchObject({ tasks: [{ id: "task-b" }] });
    await told.promise;
    expect(looks).toEqual([[{ id: "task-a", version: 0 }]]);
    await client.query("ROLLBACK");
  });
  expect(await store.write({ ...claim, tokens: ["t3", "t4"] })).toMatchObject({ tasks: [{ id: "task-a" }] });
});

test("owners that claim at the same time never get the same task, and leave none", async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  const stores = await Promise.all(["one", "two", "three"].map((id) => openStore(fresh, id)));
  onTestFinished(() => fresh.drop());
  const first = stores[0] ?? (await openStore(fresh, "none"));
  const count = 60;
  const limited = { ...aHandler, concurrency: count };
  await Promise.all(
    Array.from({ length: count }, (_, n) => first.write({ ...createQueued(`t${n}`), forAnyOwner: true })),
  );
  const claimed: string[] = [];
  for (let round = 0; claimed.length < count; round++) {
    expect(round).toBeLessThan(50);
    const handler = round % 2 === 0 ? aHandler : limited;
    const results = await Promise.all(
      stores.map((store, n) => {
        const tokens = Array.from({ length: 7 }, (__, i) => `t${round}-${n}-${i}`);
        return store.write({ type: "claim", now: noon, handlers: [handler], tokens });
      }),
    );
    for (const { tasks } of results) claimed.push(...tasks.map(({ id }) => id));
  }
  expect(new Set(claimed).size).toBe(count);
});

test("owners that claim at the same time keep to the limit of a handler", async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  const stores = await Promise.all(["one", "two", "three"].map((id) => openStore(fresh, id)));
  onTestFinished(() => fresh.drop());
  for (let n = 0; n < 20; n++) await stores[0]?.write({ ...createQueued(`t${n}`), forAnyOwner: true });
  const limited = { ...aHandler, concurrency: 5 };
  const results = await Promise.all(
    stores.map((store, n) => {
      const tokens = Array.from({ length: 4 }, (_, i) => `t${n}-${i}`);
      return store.write({ type: "claim", now: noon, handlers: [limited], tokens });
    }),
  );
  expect(results.flatMap(({ tasks }) => tasks)).toHaveLength(5);
});

test("damaged tasks of many principals hold up nobody else's", async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  const store = await openStore(fresh, "one");
  onTestFinished(() => fresh.drop());
  for (const name of ["a", "b", "c", "d"]) await store.write(createQueued(name, { principal: name }));
  await withClient(fresh.url, (client) =>
    client.query(`UPDATE ${fresh.schema}.task SET attempts = '{}' WHERE id <> 'task-d'`),
  );
  const claim = { type: "claim", now: noon, handlers: [aHandler], tokens: ["t"] } as const;
  expect(await store.write(claim)).toMatchObject({ tasks: [{ id: "task-d" }] });
});

test("principals may have names that Postgres cannot hold", async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  const store = await openStore(fresh, "one");
  onTestFinished(() => fresh.drop());
  const principals = ["a\0", "b\ud800", "\ufffec"];
  for (const [n, principal] of principals.entries()) {
    for (const turn of [1, 2]) await store.write(createQueued(`${n}-${turn}`, { principal }));
  }
  for (const handler of [aHandler, { ...aHandler, concurrency: 99 }]) {
    const taken: (string | null)[] = [];
    const limited = [{ ...aHandler, principal: "b\ud800" }];
    let turns: Turns = { ...withTurn(noTurns, 0, "a\0"), limited };
    for (const token of ["t1", "t2", "t3"]) {
      const claim = { type: "claim", now: noon, handlers: [handler], tokens: [token], turns } as const;
      const claimed = await store.write(claim);
      taken.push(...claimed.tasks.map(({ principal }) => principal));
      turns = claimed.turns;
    }
    expect(new Set(taken)).toEqual(new Set(principals));
  }
});
