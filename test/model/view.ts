import type { TaskFilter, TaskStore } from "../../src/store/store.ts";
import type { ClaimingHandler, HandlerName } from "../../src/task/queue.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { sweepable } from "./model.ts";
import { hasClaimable, orphanedHandlers, queuedFor, timeOf } from "./model-queue.ts";
import { below } from "./model-relatives.ts";
import type { ModelTask } from "./model-task.ts";
import { byId, type Model } from "./model-state.ts";
import { wholeJournal } from "../../src/testing/sample-task.ts";

/** What to look at: reads that take an argument are given these. */
export interface Look {
  readonly now: number;
  readonly after: string;
  readonly before: string | null;
  readonly limit: number;
  readonly key: string;
}

/** Those whom the sequences make tasks for, and some for whom they make none. */
const filters = (["2026-07-28", "plain", "child"] as const).flatMap((generation) => [
  { generation },
  ...[null, "ann", "", "bob"].map((principal) => ({ generation, principal })),
  ...["s", "t"].flatMap((scope) => [
    { generation, scope },
    { generation, scope, principal: "ann" },
  ]),
]);

/** All that a store gives away when it is read; plain data, so that it can cross to another process. */
export type View = readonly unknown[];

/** Every id that the sequences use, and one that they do not. */
export const ids = ["a", "b", "c", "d", "e", "f"] as const;
const looked: readonly string[] = [...ids, "x"];

/** What runs the tasks of the sequences. */
export const handlers = [
  { method: "tools/call", tool: "x" },
  { method: "tools/call", tool: "y" },
] as const satisfies readonly HandlerName[];
const handlerSets: readonly (readonly ClaimingHandler[])[] = [
  handlers,
  [handlers[0]],
  [{ ...handlers[0], concurrency: 1 }],
  [],
];

export async function viewOfStore(store: TaskStore, { now, after, before, limit, key }: Look): Promise<View> {
  const tasks = looked.map(async (id) => [
    (await store.get(id)) ?? null,
    (await store.snapshot(id)) ?? null,
    (await store.request(id)) ?? null,
    await wholeJournal(store, id),
    (await store.journalEntry(id, key)) ?? null,
    (await store.logs?.read(id, "log", 0, 99)) ?? [],
    (await store.logs?.read(id, "output", 1, limit)) ?? [],
    await Promise.all([0, 1, 2].map(async (seq) => (await store.pieces?.read(id, key, seq)) ?? null)),
  ]);
  return [
    await Promise.all(tasks),
    await store.unfinished("", 99),
    await store.unfinished(after, limit),
    await store.due(now, limit),
    await store.nextSweepAt(now),
    await Promise.all(handlerSets.map((each) => store.hasClaimable(each))),
    byName(await store.orphanedHandlers()),
    await Promise.all(
      [true, false].flatMap((blocked) =>
        handlers.map((handler) => store.queued(handler, { after, limit, blocked })),
      ),
    ),
    await Promise.all(filters.map((filter) => store.list(filter, before, limit, now))),
  ];
}

/** What an owner is to see. */
export function viewOfModel(model: Model, by: string, { now, after, before, limit, key }: Look): View {
  const tasks = looked.map((id) => {
    const found = model.tasks.get(id);
    if (found === undefined) return [null, null, null, [], null, [], [], [null, null, null]];
    const { task, request, journal, outcome, lines } = found;
    const own = asked(found);
    const others = below(model, id).flatMap((child) =>
      asked(child).map((input) => ({
        ...input,
        key: JSON.stringify(["holdfast/call", child.task.id, input.key]),
        // Whoever answers needs the scopes of the tool that asks.
        ...(child.task.requiredScopes.length > 0 && { requiredScopes: child.task.requiredScopes }),
      })),
    );
    const inputs = task.finishedAt === null ? [...own, ...others] : [];
    const entry = journal.find((each) => each.key === key) ?? null;
    const ordered = lines.toSorted((a, b) => a.seq - b.seq);
    const log = ordered.filter(({ list }) => list === "log");
    const output = ordered.filter(({ list, seq }) => list === "output" && seq > 1).slice(0, limit);
    const ofKey = found.pieces.filter((piece) => piece.key === key);
    const pieces = [0, 1, 2].map((seq) => ofKey.find((piece) => piece.seq === seq)?.body ?? null);
    return [task, { task, inputs, outcome }, request, journal, entry, log, output, pieces];
  });
  const all = [...model.tasks.values()].sort(byId).map(({ task }) => task);
  const unfinished = all.filter(({ finishedAt }) => finishedAt === null);
  const times = all.flatMap((task) => [task.sweepAt, timeOf(task)]);
  const sweeps = times.filter((at) => at !== null && at > now).map(Number);
  const listed = all.reverse().filter(({ id }) => before === null || id < before);
  const kept = listed.filter(({ finishedAt, sweepAt }) => finishedAt === null || (sweepAt ?? Infinity) > now);
  return [
    tasks,
    unfinished,
    unfinished.filter(({ id }) => id > after).slice(0, limit),
    sweepable(model, false, now).slice(0, limit),
    sweeps.length === 0 ? null : Math.min(...sweeps),
    handlerSets.map((each) => hasClaimable(model, by, each)),
    orphanedHandlers(model),
    [true, false].flatMap((blocked) =>
      handlers.map((handler) => queuedFor(model, handler, { after, limit, blocked })),
    ),
    filters.map((filter) => kept.filter((task) => isOf(task, filter)).slice(0, limit)),
  ];
}

/** The questions of a task that are open. */
function asked({ journal }: ModelTask) {
  const open = journal.filter(({ kind, doneAt }) => kind === "input" && doneAt === null);
  return open.map((entry) => ({ key: entry.key, method: entry.method, params: entry.request }));
}

/** Handlers come in any order. */
export function byName(names: readonly HandlerName[]): readonly HandlerName[] {
  return names.toSorted((a, b) => (`${a.method} ${a.tool}` < `${b.method} ${b.tool}` ? -1 : 1));
}

function isOf(task: TaskRecord, filter: TaskFilter): boolean {
  if (task.generation !== filter.generation) return false;
  if ("scope" in filter && task.scope !== filter.scope) return false;
  return !("principal" in filter) || task.principal === filter.principal;
}
