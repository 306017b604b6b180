import { expect, onTestFinished, test } from "vitest";
import { mostPieces } from "../../../src/store/postgres/left-pieces.ts";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import { createRunning, noon } from "../../../src/testing/sample-task.ts";
import { FreshSchema } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";

interface Place {
  readonly open: (id: string) => Promise<TaskStore>;
  /** How many pieces there are of tasks, by the ends of their ids. */
  readonly pieces: () => Promise<Record<string, number>>;
  readonly run: (sql: string) => Promise<unknown>;
}

interface Counted {
  readonly task: string;
  readonly count: number;
}

async function place(): Promise<Place> {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  const piece = `${fresh.schema}.piece`;
  const run = (sql: string): Promise<Counted[]> =>
    withClient(fresh.url, async (client) => {
      const { rows } = await client.query<Counted>(sql.replaceAll("piece", piece));
      return rows;
    });
  return {
    run,
    open: async (id) => {
      const store = postgresStore(fresh.url, { schema: fresh.schema });
      await store.open({ id, handlers: [] });
      onTestFinished(() => store.close());
      return store;
    },
    pieces: async () => {
      const rows = await run("SELECT task_id AS task, count(*)::int FROM piece GROUP BY 1");
      return Object.fromEntries(rows.map(({ task, count }) => [task, count]));
    },
  };
}

/** More than two commits may delete. */
const many = 2 * mostPieces + 3;

async function withFile(store: TaskStore, name: string, pieces: number, key = "file"): Promise<void> {
  const held = { now: noon + 1, id: `task-${name}`, token: "t1" } as const;
  await Promise.all(
    Array.from({ length: pieces }, (_, seq) =>
      store.write({ ...held, type: "write_piece", key, seq, body: "YWI=" }),
    ),
  );
}

async function end(store: TaskStore, name: string): Promise<void> {
  await store.write({ type: "cancel", now: noon + 2, id: `task-${name}` });
}

test("a large file is deleted after its task, and those of other tasks stay", async () => {
  const { open, pieces } = await place();
  const store = await open("one");
  for (const name of ["a", "b"]) {
    await store.write(createRunning(name));
    await withFile(store, name, many);
    const value = { value: '{"bytes":3}', error: null };
    const held = { now: noon + 1, id: `task-${name}`, token: "t1" } as const;
    await store.write({ ...held, type: "record_step", key: "file", artifact: true, begunAt: noon, ...value });
    await end(store, name);
  }
  expect(await pieces()).toEqual({ "task-a": many, "task-b": many });
  await store.write({ type: "delete", now: noon + 3, id: "task-a" });
  await expect.poll(pieces).toEqual({ "task-b": many });
});

test("what a process has left of deleted tasks is deleted by the next one", async () => {
  const { open, pieces, run } = await place();
  const first = await open("one");
  await first.write(createRunning("a"));
  await withFile(first, "a", 3);
  await first.close();
  await run(
    `INSERT INTO piece (task_id, key, seq, body) SELECT 'gone-' || t, 'f', s, 'YWI=' FROM generate_series(1, 3) t, generate_series(0, ${many}) s`,
  );
  await open("two");
  await expect.poll(pieces).toEqual({ "task-a": 3 });
});

test("a large file that begins again is written over, and one that fails is left to its task", async () => {
  const { open, pieces } = await place();
  const store = await open("one");
  await store.write(createRunning("a"));
  await withFile(store, "a", many);
  await withFile(store, "a", 2);
  const left = (await pieces())["task-a"] ?? 0;
  expect(left).toBeLessThan(many);
  const read = async (seq: number): Promise<unknown> => store.pieces?.read("task-a", "file", seq);
  expect([await read(0), await read(1)]).toEqual(["YWI=", "YWI="]);
  await end(store, "a");
  await store.write({ type: "delete", now: noon + 3, id: "task-a" });
  await expect.poll(pieces).toEqual({});
});
