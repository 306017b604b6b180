import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { PostgresReader } from "../../../src/store/postgres/postgres-reader.ts";
import { childInputKey } from "../../../src/task/journal.ts";
import type { TaskRecord } from "../../../src/task/record.ts";
import { latestTime } from "../../../src/task/time.ts";
import { block } from "../../task/decided.ts";
import { aHandler, noHandler } from "../../../src/testing/sample-task.ts";
import { noon, queuedRecord, runningRecord } from "../../contract/sample-task.ts";
import { SomeSchema } from "./some-schema.ts";

let schema: SomeSchema;
let reader: PostgresReader;
beforeAll(async () => {
  schema = await SomeSchema.create();
  reader = new PostgresReader(schema.database, schema.names);
});
afterEach(async () => {
  const { task, request, journal, outcome, child, owner } = schema.names;
  await schema.run(`TRUNCATE ${[task, request, journal, outcome, child, owner].join(", ")}`);
});
afterAll(() => schema[Symbol.asyncDispose]());

const unreadable = { code: "task_unreadable" };
const question = { kind: "input", method: "elicitation/create", request: "{}" } as const;

function named(name: string, members: Partial<TaskRecord> = {}, of = runningRecord): TaskRecord {
  const id = `task-${name}`;
  return of({ id, wireId: id, ...members });
}

function ready(name: string, members: Partial<TaskRecord> = {}): TaskRecord {
  return named(name, { owner: null, lane: "new", runAfter: noon, ...members }, queuedRecord);
}

function waiting(name: string, members: Partial<TaskRecord> = {}): TaskRecord {
  return ready(name, { lane: null, ...members });
}

function settled(name: string, members: Partial<TaskRecord> = {}): TaskRecord {
  return named(name, { state: "settled", owner: null, token: null, outcomeKind: "result", ...members });
}

async function damage(...names: readonly string[]): Promise<void> {
  const ids = names.map((name) => `task-${name}`);
  await schema.run(`UPDATE ${schema.names.task} SET attempts = '{}' WHERE id = ANY($1::text[])`, [ids]);
}

const namesOf = (found: readonly { readonly id: string }[]): string =>
  found.map(({ id }) => id.replace("task-", "")).join("");

describe("a task", () => {
  test("comes back as it was written, and one that is not there as undefined", async () => {
    const task = named("a", { principal: "half \ud800", tool: "nul \0" });
    await schema.put(task);
    expect(await reader.get("task-a")).toEqual(task);
    expect(await reader.get("task-b")).toBeUndefined();
    expect(await reader.snapshot("task-b")).toBeUndefined();
    expect(await reader.request("task-b")).toBeUndefined();
    expect(await reader.journalEntry("task-a", "k")).toBeUndefined();
  });

  test("with a damaged record cannot be read, and is named", async () => {
    await schema.put(named("a"));
    await damage("a");
    const error = { ...unreadable, message: expect.stringContaining("task-a") as unknown };
    await expect(reader.get("task-a")).rejects.toMatchObject(error);
    await expect(reader.snapshot("task-a", () => false)).rejects.toMatchObject(error);
  });

  test("is found by its wire id, be that its own or another one", async () => {
    const generation = "sep-1686";
    await schema.put(named("a"), named("b", { generation, scope: "s\0", wireId: "w" }));
    await schema.put(named("c", { generation, scope: "t", wireId: "w" }));
    expect(await reader.find({ generation: "2026-07-28", scope: "", wireId: "task-a" })).toBe("task-a");
    expect(await reader.find({ generation, scope: "", wireId: "task-a" })).toBeUndefined();
    expect(await reader.find({ generation, scope: "s\0", wireId: "w" })).toBe("task-b");
    expect(await reader.find({ generation, scope: "t", wireId: "w" })).toBe("task-c");
    expect(await reader.find({ generation, scope: "s\0", wireId: "task-b" })).toBeUndefined();
  });

  test("is found by how its key begins, whatever the key has that Postgres cannot hold", async () => {
    const keys = ["k", "k\0a", "k#1", "k\ud800", "l", "K"];
    await schema.put(...keys.map((idempotencyKey, index) => named(`${index}`, { idempotencyKey })));
    const found = async (prefix: string, limit = 9) =>
      (await reader.withKeys("ann", prefix, limit)).map(({ key }) => key);
    expect(await found("k")).toEqual(["k", "k\0a", "k#1", "k\ud800"]);
    expect(await found("k\0")).toEqual(["k\0a"]);
    expect(await found("k", 1)).toEqual(["k"]);
    expect(await found("")).toEqual(["K", "k", "k\0a", "k#1", "k\ud800", "l"]);
    expect(await reader.withKeys(null, "k", 9)).toEqual([]);
  });
});

describe("tasks that are asked for in one turn", () => {
  test("are read together, however many ask for one of them", async () => {
    const [a, b] = [named("a"), settled("b")];
    await schema.put(a);
    await schema.put(b);
    const statements: string[] = [];
    const together = new PostgresReader(
      {
        codecs: schema.database.codecs,
        read: (sql, values) => {
          statements.push(sql);
          return schema.database.read(sql, values);
        },
      },
      schema.names,
    );
    const found = await Promise.all(["task-a", "task-b", "task-c", "task-a"].map((id) => together.get(id)));
    expect(found).toEqual([a, b, undefined, a]);
    expect(statements).toHaveLength(1);
  });

  test("all fail with the statement that was to read them", async () => {
    const problem = new Error("no database");
    const broken = new PostgresReader(
      { codecs: schema.database.codecs, read: () => Promise.reject(problem) },
      schema.names,
    );
    const found = ["task-a", "task-b"].map((id) => expect(broken.get(id)).rejects.toBe(problem));
    await Promise.all(found);
  });

  test("are all read, however many there are", async () => {
    const ids = Array.from({ length: 300 }, (_, n) => `task-${n}`);
    await schema.put(named("299"));
    const found = await Promise.all(ids.map((id) => reader.get(id)));
    expect(namesOf(found.filter((task) => task !== undefined))).toBe("299");
  });
});

describe("a snapshot", () => {
  test("shows the questions of a task in the order of their asking, and no answered one", async () => {
    await schema.put(named("a", { openInputs: 2 }));
    for (const key of ["z", "b", "y"]) await schema.putEntry("task-a", { ...question, key });
    await schema.putEntry("task-a", { ...question, key: "b", doneAt: noon });
    await schema.putEntry("task-a", { kind: "step", key: "s", doneAt: noon });
    const { inputs, outcome } = (await reader.snapshot("task-a")) ?? {};
    expect(inputs).toMatchObject([{ key: "z", params: "{}" }, { key: "y" }]);
    expect(outcome).toBeNull();
  });

  test("shows the questions of tasks below, with their scopes, but for tasks that have ended or cannot be read", async () => {
    await schema.put(named("a", { openInputs: 2, childInputs: 2 }));
    const asks = { openInputs: 1, parent: { id: "task-a", key: "call", root: "task-a", cancelGraceMs: 0 } };
    await schema.put(named("b", { ...asks, requiredScopes: ["pay"] }), named("c", asks));
    await schema.put(settled("d"), named("e", asks));
    for (const name of ["e", "d", "c", "b"]) {
      const row = [`task-${name}`, "task-a", `call-${name}`];
      await schema.run(`INSERT INTO ${schema.names.child} VALUES ($1, $2, $2, $3)`, row);
      await schema.putEntry(`task-${name}`, { ...question, key: "q" });
    }
    await damage("e");
    const shown = (name: string) => childInputKey({ taskId: `task-${name}`, key: "q" });
    const [first, second, ...rest] = (await reader.snapshot("task-a"))?.inputs ?? [];
    expect(first).toEqual({
      key: shown("b"),
      method: question.method,
      params: "{}",
      requiredScopes: ["pay"],
    });
    expect(second).toEqual({ key: shown("c"), method: question.method, params: "{}" });
    expect(rest).toEqual([]);
  });

  test("shows the outcome of a task that ended, and no question", async () => {
    await schema.put(settled("a"));
    await schema.putEntry("task-a", { ...question, key: "q" });
    await schema.run(`INSERT INTO ${schema.names.outcome} VALUES ('task-a', 'result', '{"content":[]}')`);
    const outcome = { kind: "result", body: '{"content":[]}' };
    expect(await reader.snapshot("task-a")).toMatchObject({ inputs: [], outcome });
  });

  test("of what is not to be seen is none, and nothing but its record is looked at", async () => {
    await schema.put(settled("a"));
    expect(await reader.snapshot("task-a", () => false)).toBeUndefined();
    await expect(reader.snapshot("task-a", () => true)).rejects.toMatchObject(unreadable);
  });
});

describe("a journal", () => {
  test("has pages that go on where they ended, and sizes in bytes", async () => {
    const keys = ["a", "b\0", "c", "é"];
    for (const key of keys) await schema.putEntry("task-a", { key, request: "é", value: '"é"', error: "e" });
    await schema.putEntry("task-b", { key: "a" });
    const found: string[] = [];
    for (let from: string | null = ""; from !== null;) {
      const { entries, next }: Awaited<ReturnType<typeof reader.journal>> = await reader.journal(
        "task-a",
        from,
        1,
      );
      expect(entries).toMatchObject([{ bytes: 7 }]);
      found.push(...entries.map(({ key }) => key));
      from = next;
    }
    expect(found.toSorted()).toEqual(keys);
    const ends = await reader.journalEnds("task-a", ["b\0", "x", "c"]);
    expect(ends.map(({ key }) => key).toSorted()).toEqual(["b\0", "c"]);
    expect(await reader.journalEnds("task-a", [])).toEqual([]);
  });

  test("with an entry of a kind that there is not cannot be read", async () => {
    await schema.putEntry("task-a", { key: "k" });
    await schema.run(`UPDATE ${schema.names.journal} SET kind = 'later'`);
    await expect(reader.journal("task-a", "", 9)).rejects.toMatchObject(unreadable);
    await expect(reader.journalEntry("task-a", "k")).rejects.toMatchObject(unreadable);
  });

  test("of a request that is damaged: so is the request", async () => {
    await schema.run(
      `INSERT INTO ${schema.names.request} (task_id, origin, arguments) VALUES ('task-a', '{', '{}')`,
    );
    await expect(reader.request("task-a")).rejects.toMatchObject(unreadable);
  });
});

describe("a list", () => {
  const generation = "2026-07-28";

  test("has full pages although some tasks cannot be read", async () => {
    await schema.put(...Array.from("abcdefg", (name) => named(name)));
    await damage("b", "d", "e", "g");
    for (const filter of [{ generation }, { generation, principal: "ann" }] as const) {
      expect(namesOf(await reader.list(filter, null, 2, noon))).toBe("fc");
      expect(namesOf(await reader.list(filter, "task-c", 2, noon))).toBe("a");
    }
    expect(namesOf(await reader.unfinished("", 2))).toBe("ac");
    expect(namesOf(await reader.unfinished("task-c", 2))).toBe("f");
  });

  test("tells callers without a name from those with an empty one", async () => {
    await schema.put(named("a", { principal: null }), named("b", { principal: "" }));
    await schema.put(named("c", { scope: "s", principal: null }), named("d", { scope: "s", principal: "" }));
    const list = async (principal: string | null, scope = {}) =>
      namesOf(await reader.list({ generation, principal, ...scope }, null, 9, noon));
    expect(await list(null)).toBe("ca");
    expect(await list("")).toBe("db");
    expect(await list(null, { scope: "s" })).toBe("c");
    expect(await list("", { scope: "s" })).toBe("d");
    expect(namesOf(await reader.list({ generation, scope: "s" }, null, 9, noon))).toBe("dc");
  });

  test("leaves out what has ended and is over", async () => {
    await schema.put(settled("a", { sweepAt: noon }), settled("b", { sweepAt: null }), named("c"));
    expect(namesOf(await reader.list({ generation }, null, 9, noon))).toBe("cb");
    expect(namesOf(await reader.list({ generation }, null, 9, noon - 0.5))).toBe("cba");
  });
});

describe("the sweeper", () => {
  test("has work where tasks end, are deleted or wake, and not for those that wait for no time", async () => {
    await schema.put(named("a", { sweepAt: noon + 3 }), named("b", { sweepAt: noon + 1 }));
    await schema.put(
      settled("c", { sweepAt: noon + 2 }),
      waiting("d", { runAfter: noon + 4, sweepAt: null }),
    );
    await schema.put(waiting("e", { runAfter: latestTime, sweepAt: null }));
    expect(await reader.due(noon + 3, 9)).toEqual(["task-b", "task-a"]);
    expect(await reader.due(noon + 3, 1)).toEqual(["task-b"]);
    const times: (number | null)[] = [];
    for (let after: number | null = -Infinity; after !== null; times.push(after)) {
      after = await reader.nextSweepAt(after);
    }
    expect(times).toEqual([noon + 1, noon + 2, noon + 3, noon + 4, null]);
  });
});

describe("what is queued", () => {
  test("without a handler of any owner is known by what would run it", async () => {
    await schema.put(ready("a", { owner: "o1" }), ready("b", { tool: "x" }), ready("c", { owner: "o2" }));
    await schema.put(waiting("d", { tool: "y\0" }), ready("e", { ...noHandler, method: "prompts/get" }));
    await schema.put(ready("f", { tool: "broken" }), named("g", { tool: "running" }));
    await schema.run(`UPDATE ${schema.names.task} SET method = 'later' WHERE id = 'task-f'`);
    await schema.putOwner("o1", JSON.stringify([aHandler]));
    await schema.putOwner("o2", "{");
    await schema.putOwner("o3", JSON.stringify([{ method: "tools/call", tool: "x" }]), 1);
    const orphaned = await reader.orphanedHandlers();
    expect(orphaned.map(({ method, tool }) => `${method} ${tool}`).toSorted()).toEqual([
      "prompts/get withdraw",
      "tools/call x",
      "tools/call y\0",
    ]);
  });

  test("comes in the order of ids, whoever is to run it; what is blocked apart from what is not", async () => {
    await schema.put(ready("c"), ready("a", { owner: "o1" }), ready("b", { principal: null }));
    await schema.put(waiting("d", { runAfter: noon + 7 }), ready("g", { tool: "x" }));
    await schema.put(waiting("f", { blocked: { ...block, since: noon, tries: 1 } }));
    const queued = (after: string, limit: number, blocked = false) =>
      reader.queued(aHandler, { after, limit, blocked });
    expect(await queued("", 9)).toEqual(["task-a", "task-b", "task-c", "task-d"]);
    expect(await queued("task-a", 2)).toEqual(["task-b", "task-c"]);
    expect(await queued("", 9, true)).toEqual(["task-f"]);
    expect(await reader.queued(noHandler, { after: "", limit: 9, blocked: false })).toEqual([]);
  });
});
