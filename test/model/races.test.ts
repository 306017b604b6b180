import assert from "node:assert/strict";
import * as fc from "fast-check";
import { test } from "vitest";
import { postgresStore } from "../../src/store/postgres/postgres-store.ts";
import { namesIn, type Names } from "../../src/store/postgres/names.ts";
import type { TaskChange, TaskStore } from "../../src/store/store.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import { isTerminal, type TaskState } from "../../src/task/outcome.ts";
import { wholeJournal } from "../../src/testing/sample-task.ts";
import { EmptiedSchemas } from "../postgres/emptied-schemas.ts";
import { withClient } from "../postgres/with-client.ts";
import { arbitraryTaskCommand } from "./arbitrary-command.ts";
import { modelRuns, modelTimeoutMs } from "./model-runs.ts";
import type { ModelTask } from "./model-task.ts";
import { assertRelatives } from "./relative-promises.ts";
import { handlers, ids } from "./view.ts";

// Several owners write at the same time, without end: too many orders for a model, but whichever it was, this is left of it.

const owners = ["o1", "o2", "o3"];

/** One that is reclaimed could not write on. The change of a key that is given up has no version of its own. */
const command = arbitraryTaskCommand.filter(({ type }) => type !== "reclaim" && type !== "release_key");
const group = fc.array(command, { minLength: 1, maxLength: 5, size: "max" });
const work = fc.array(fc.tuple(group, group, group), { minLength: 1, maxLength: 15, size: "max" });

/** Ids are never used twice, but more than one process may come to use the same. */
function withoutReuse(groups: readonly TaskCommand[][], used: Set<string>): readonly TaskCommand[][] {
  const made = new Set<string>();
  const kept = groups.map((commands) =>
    commands.filter((each) => {
      const id = madeBy(each);
      if (id === undefined) return true;
      made.add(id);
      return !used.has(id);
    }),
  );
  for (const id of made) used.add(id);
  return kept;
}

function madeBy(each: TaskCommand): string | undefined {
  if (each.type === "create") return each.task.id;
  return each.type === "call_tool" ? each.child.id : undefined;
}

async function assertSound(store: TaskStore, told: readonly TaskChange[]): Promise<void> {
  const tasks = new Map<string, ModelTask>();
  for (const id of ids) {
    const [task, request] = [await store.get(id), await store.request(id)];
    assert.equal(task === undefined, request === undefined);
    if (task === undefined || request === undefined) continue;
    const journal = await wholeJournal(store, id);
    tasks.set(id, { task, request, journal, outcome: null, events: [], lines: [], pieces: [], messages: [] });
    const versions = told.flatMap((change) => (change.id === id ? (change.version ?? []) : []));
    assert.deepEqual(
      versions.toSorted((a, b) => a - b),
      Array.from({ length: task.version }, (_, n) => n + 1),
    );
  }
  assertRelatives({ tasks, secrets: new Map(), paused: [], bulkJobs: new Map(), owners: new Map() });
}

async function assertTables(url: string, { task, usage, ...others }: Names): Promise<void> {
  await withClient(url, async (client) => {
    const rows = async (sql: string): Promise<readonly unknown[][]> =>
      (await client.query<unknown[]>({ text: sql, rowMode: "array" })).rows;
    const { request, journal, outcome, event, child } = others;
    for (const table of [request, journal, outcome, event]) {
      assert.deepEqual(
        await rows(`SELECT task_id FROM ${table} WHERE task_id NOT IN (SELECT id FROM ${task})`),
        [],
      );
    }
    assert.deepEqual(
      await rows(`SELECT id FROM ${child} ORDER BY id`),
      await rows(`SELECT id FROM ${task} WHERE parent IS NOT NULL ORDER BY id`),
    );
    const counts = new Map<string, number[]>();
    for (const [key, unfinished, retained] of await rows(
      `SELECT key, sum(unfinished)::int, sum(retained)::int FROM ${usage} GROUP BY key HAVING sum(retained) <> 0 OR sum(unfinished) <> 0`,
    ))
      counts.set(String(key), [Number(unfinished), Number(retained)]);
    const expected = new Map<string, number[]>();
    for (const [parent, principal, state] of (await rows(
      `SELECT parent, principal, state FROM ${task}`,
    )) as unknown as readonly (readonly [string | null, string | null, TaskState])[]) {
      if (parent !== null) continue;
      for (const key of principal === null ? ["t"] : ["t", `p${principal}`]) {
        const [unfinished = 0, retained = 0] = expected.get(key) ?? [];
        expected.set(key, [unfinished + Number(!isTerminal(state)), retained + 1]);
      }
    }
    assert.deepEqual(counts, expected);
  });
}

test("what several owners write at the same time fits together", { timeout: modelTimeoutMs }, async () => {
  await using schemas = await EmptiedSchemas.inSharedDatabase();
  const property = fc.asyncProperty(work, async (rounds) => {
    const schema = schemas.take();
    const told: TaskChange[] = [];
    const stores = await Promise.all(
      owners.map(async (id) => {
        const store = postgresStore(schemas.url, { schema });
        await store.open({ id, handlers });
        store.subscribe((changes, by) => {
          if (by === "self" && changes !== "gap") told.push(...changes);
        });
        return store;
      }),
    );
    try {
      const used = new Set<string>();
      for (const groups of rounds) {
        const kept = withoutReuse(groups, used);
        await Promise.all(
          stores.flatMap((store, index) => (kept[index] ?? []).map((each) => store.write(each))),
        );
      }
      for (const store of stores) await assertSound(store, told);
      await assertTables(schemas.url, namesIn(schema));
    } finally {
      await Promise.all(stores.map((store) => store.close()));
      await schemas.giveBack(schema);
    }
  });
  await fc.assert(property, modelRuns(16));
});
