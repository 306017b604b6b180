import { AssertionError } from "node:assert";
import { expect, test } from "vitest";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import type { LimitStore } from "../../src/store/limits.ts";
import type { SessionStore } from "../../src/store/session-store.ts";
import type { JournalPage, TaskStore } from "../../src/store/store.ts";
import { type HandlerName, noTurns } from "../../src/task/queue.ts";
import { storeContract, type StoreKind } from "../../src/testing/store-contract.ts";
import type { StorePart } from "../../src/testing/store-rules.ts";

/** A memory store of which some methods are others; the rest works on the real one. */
function faulty(fault: (real: TaskStore) => Partial<TaskStore>): () => TaskStore {
  return () => {
    const real = memoryStore();
    const changed = fault(real);
    return new Proxy(real, {
      get(target, name: keyof TaskStore) {
        const member = changed[name] ?? target[name];
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  };
}

const never = (): void => undefined;
const withoutLimit = ({ method, tool }: HandlerName): HandlerName => ({ method, tool });
const faults: readonly [says: string, store: () => TaskStore, area: string][] = [
  [
    "forgets outcomes",
    faulty((real) => ({ snapshot: async (id) => without(await real.snapshot(id)) })),
    "settle",
  ],
  ["shows everything", faulty((real) => ({ snapshot: (id) => real.snapshot(id) })), "settle"],
  [
    "reads large outcomes before there is memory for them",
    faulty((real) => ({ snapshot: (id, isVisible) => real.snapshot(id, isVisible) })),
    "text",
  ],
  [
    "tells its own changes as those of others",
    faulty((real) => ({
      subscribe: (listener) => real.subscribe((changes) => listener(changes, "others")),
    })),
    "changes",
  ],
  [
    "loses the status text of an end",
    faulty((real) => ({
      write: (command) =>
        real.write(command.type === "settle" ? { ...command, statusMessage: undefined } : command),
    })),
    "retry",
  ],
  ["tells no changes", faulty(() => ({ subscribe: () => never })), "changes"],
  [
    "sorts its journal",
    faulty((real) => ({ journal: async (...page) => sorted(await real.journal(...page)) })),
    "journal",
  ],
  [
    "shows one page of a journal",
    faulty((real) => ({ journal: async (...page) => ({ ...(await real.journal(...page)), next: null }) })),
    "journal",
  ],
  [
    "shows pages of a journal that are too large",
    faulty((real) => ({ journal: (id, from) => real.journal(id, from, 99) })),
    "journal",
  ],
  [
    "forgets what journal entries ended with",
    faulty((real) => ({
      journalEnds: async (...keys) =>
        (await real.journalEnds(...keys)).map((end) => ({ ...end, error: null })),
    })),
    "journal",
  ],
  ["knows no limit", faulty((real) => ({ due: (now) => real.due(now, Infinity) })), "sweep"],
  [
    "pages from the start",
    faulty((real) => ({ unfinished: (_, n) => real.unfinished("", n) })),
    "unfinished",
  ],
  [
    "lists oldest first",
    faulty((real) => ({ list: async (...page) => [...(await real.list(...page))].reverse() })),
    "list",
  ],
  [
    "lists what is over",
    faulty((real) => ({ list: (owner, before, n) => real.list(owner, before, n, 0) })),
    "list",
  ],
  [
    "lists a page short",
    faulty((real) => ({
      list: async (owner, before, n, now) =>
        (await real.list(owner, before, n, 0)).filter(
          ({ state, sweepAt }) => state === "queued" || Number(sweepAt ?? Infinity) > now,
        ),
    })),
    "list",
  ],
  [
    "sweeps late",
    faulty((real) => ({ nextSweepAt: async (after) => ((await real.nextSweepAt(after)) ?? 0) + 1 })),
    "sweep",
  ],
  [
    "keeps sessions that have ended",
    faulty((real) => ({ sessions: sessionsOf(real, { deleteExpired: async () => 0 }) })),
    "sessions",
  ],
  [
    "loses messages",
    faulty(() => ({ messages: { put: async () => ({ ok: true }), take: async () => [] } })),
    "messages",
  ],
  [
    "gives everybody a permit",
    faulty((real) => ({
      limits: {
        ofTask: async () => [],
        call: async ({ joins, ...call }) => ({
          ...(await limitsOf(real).call({ ...call, joins: [] })),
          granted: joins,
        }),
      },
    })),
    "limits",
  ],
  [
    "forgets whose turn it is",
    faulty((real) => ({
      write: (command) => real.write(command.type === "claim" ? { ...command, turns: noTurns } : command),
    })),
    "turns",
  ],
  [
    "counts no limits",
    faulty((real) => ({ hasClaimable: (handlers) => real.hasClaimable(handlers.map(withoutLimit)) })),
    "limit",
  ],
  [
    "gives back no failed handler later",
    faulty((real) => ({
      write: (command) => real.write(command.type === "retry" ? { ...command, until: command.now } : command),
    })),
    "retry",
  ],
  [
    "forgets versions",
    faulty((real) => ({
      get: async (id) => {
        const task = await real.get(id);
        return task && { ...task, toolVersion: null };
      },
    })),
    "versions",
  ],
  [
    "forgets attempts",
    faulty((real) => ({
      get: async (id) => {
        const task = await real.get(id);
        return task && { ...task, attempts: task.attempts.slice(-1) };
      },
    })),
    "attempts",
  ],
  [
    "forgets when entries began",
    faulty((real) => ({
      journal: async (...page) => {
        const { entries, next } = await real.journal(...page);
        return { entries: entries.map((entry) => ({ ...entry, begunAt: null })), next };
      },
    })),
    "begun",
  ],
  [
    "keeps as many events as come",
    faulty((real) => ({
      write: (command) => real.write(command.type === "send_event" ? { ...command, limit: 99 } : command),
    })),
    "events",
  ],
  ["tells of no task but the command's own", faulty((real) => ({ subscribe: ownChangesOf(real) })), "calls"],
  [
    "shows no questions of tasks below",
    faulty((real) => ({
      snapshot: async (...of) => {
        const snapshot = await real.snapshot(...of);
        return snapshot && { ...snapshot, inputs: snapshot.inputs.filter(({ key }) => !key.startsWith("[")) };
      },
    })),
    "questions below",
  ],
  ["never closes", faulty(() => ({ close: async () => undefined })), "life"],
];

function ownChangesOf(real: TaskStore): TaskStore["subscribe"] {
  return (listener) =>
    real.subscribe((changes, by) => {
      if (changes === "gap") return listener(changes, by);
      return listener(
        changes.filter(({ isRelative }) => isRelative !== true),
        by,
      );
    });
}

test.each(faults)("the contract notices a store that %s", async (_, store, area) => {
  const failed: string[] = [];
  const cases = storeContract({
    durable: false,
    place: async () => ({ store, remove: async () => never() }),
  });
  for (const { name, run } of cases.filter((each) => each.name.startsWith(`${area}: `))) {
    await run({ skip: never }).catch(() => failed.push(name));
  }
  expect(failed).not.toEqual([]);
});

const parts: readonly StorePart[] = ["admin", "limits", "logs", "messages", "outbox", "reports", "sessions"];

test("cases about parts that a store leaves out are skipped, with the reason, and the others pass", async () => {
  const store = (): TaskStore =>
    new Proxy(memoryStore(), {
      get(target, name: keyof TaskStore) {
        if (parts.some((part) => part === name)) return undefined;
        const member = target[name];
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  const reasons = await skippedOf({
    durable: false,
    place: async () => ({ store, remove: async () => never() }),
  });
  const areas = {
    admin: "admin",
    limits: "limits",
    lines: "logs",
    pieces: "pieces",
    messages: "messages",
    outbox: "outbox",
    reports: "reports",
    sessions: "sessions",
  };
  for (const [name, reason] of reasons) {
    const [area = ""] = name.split(":");
    expect([name, reason]).toEqual([name, expect.stringMatching(/one owner|^The store has no `/)]);
    if (reason.startsWith("The store"))
      expect(reason).toBe(`The store has no \`${areas[area as keyof typeof areas]}\`.`);
  }
  for (const part of parts) expect([...reasons.values()]).toContain(`The store has no \`${part}\`.`);
});

test("cases with several owners are skipped for a kind of store with one, and no others are", async () => {
  const kind = {
    durable: false,
    place: async () => ({ store: memoryStore, remove: async () => never() }),
  } as const;
  const reasons = await skippedOf(kind);
  expect([...reasons.keys()]).toContain("owners: each owner sees what another has committed");
  expect(new Set(reasons.values())).toEqual(new Set(["This kind of store has one owner at a time."]));
});

/** Why cases were skipped, by their names. */
async function skippedOf(kind: StoreKind): Promise<ReadonlyMap<string, string>> {
  const reasons = new Map<string, string>();
  for (const { name, run } of storeContract(kind)) await run({ skip: (reason) => reasons.set(name, reason) });
  return reasons;
}

test("a failing case names itself and its rule, before what it compared", async () => {
  const store = faulty(() => ({ close: async () => undefined }));
  const place = async () => ({ store, remove: async () => never() });
  const title = "life: after close, every call rejects with store_closed";
  const failing = storeContract({ durable: false, place }).find(({ name }) => name === title);
  const error = await failing?.run({ skip: never }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AssertionError);
  const says = [
    'The store breaks a rule of TaskStore.close: "Later calls reject with `store_closed`."',
    `The case: ${title}`,
    "",
    "Missing expected rejection.",
  ].join("\n");
  expect(error).toMatchObject({
    message: expect.stringContaining(says),
    stack: expect.stringContaining(says),
  });
});

test("every case has a name of its own, and durable stores have more of them", () => {
  const place = async () => ({ store: memoryStore, remove: async () => undefined });
  const names = [true, false].map((durable) => storeContract({ durable, place }).map(({ name }) => name));
  for (const each of names) expect(new Set(each).size).toBe(each.length);
  expect(names[0]?.length).toBeGreaterThan(names[1]?.length ?? 0);
});

function limitsOf({ limits }: TaskStore): LimitStore {
  if (limits === undefined) throw new Error("The store counts no limits.");
  return limits;
}

function sessionsOf({ sessions }: TaskStore, changed: Partial<SessionStore>): SessionStore {
  if (sessions === undefined) throw new Error("The store keeps no sessions.");
  return {
    get: (id) => sessions.get(id),
    put: (session, room) => sessions.put(session, room),
    update: (id, state, before) => sessions.update(id, state, before),
    extend: (ends) => sessions.extend(ends),
    delete: (ids) => sessions.delete(ids),
    deleteUnextended: (ends) => sessions.deleteUnextended(ends),
    deleteExpired: (now, limit) => sessions.deleteExpired(now, limit),
    tasksOf: (id, limit, requestId) => sessions.tasksOf(id, limit, requestId),
    send: (id, message) => sessions.send(id, message),
    subscribe: (listener) => sessions.subscribe(listener),
    ...changed,
  };
}

function without<T extends object>(snapshot: T | undefined) {
  return snapshot === undefined ? undefined : { ...snapshot, outcome: null };
}

function sorted({ entries, next }: JournalPage): JournalPage {
  const placed = [...entries].sort((a, b) => (a.key < b.key ? -1 : 1));
  return { entries: placed.map((entry, place) => ({ ...entry, place })), next };
}
