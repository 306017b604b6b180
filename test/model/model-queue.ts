import type { QueuedPage } from "../../src/store/store.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import type { ClaimingHandler, HandlerName } from "../../src/task/queue.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { isAlive, isServed, mayTake, retire, runs } from "./model-owners.ts";
import { byId, put, refuse, step, type Model, type ModelStep } from "./model-state.ts";
import { inTurn, type Claim, type Claimed } from "./model-turns.ts";
import { given, started, woken, type Guilt, type ModelTask } from "./model-task.ts";

// The queued tasks: those in a lane can be claimed, by turns, and the others wait.

/** One task under each token, as far as there are any. */
export function claim(model: Model, by: string, command: TaskCommand<"claim">): ModelStep {
  const { handlers, tokens, now } = command;
  const {
    tasks: taken,
    suspectsWait: _,
    ...rest
  } = claimedBy(model, by, { ...command, limit: tokens.length });
  const counted = handlers.filter(({ concurrency }) => concurrency !== undefined);
  const claimed = taken.flatMap(({ id, method, tool }, index) => {
    const old = model.tasks.get(id);
    const limited = runs(counted, { method, tool });
    const version = handlers.find((handler) => runs([handler], { method, tool }))?.version;
    return old === undefined ? [] : [started(old, by, { token: tokens[index] ?? "", now, limited, version })];
  });
  const tasks = claimed.map(({ task }) => task);
  const answer = { ok: true, tasks, unreadable: [], ...rest } as const;
  return step(put(model, ...claimed), answer, ...tasks.map(({ id }) => id));
}

/** Those whose time has come can be claimed from now on, whoever is to run them. */
export function wake(model: Model, { now, limit }: TaskCommand<"wake">): ModelStep {
  const due = queued(model).filter(({ task }) => (timeOf(task) ?? Infinity) <= now);
  const tasks = due.slice(0, limit).map((old) => woken(old, now));
  const answer = { ok: true, woken: tasks.length, unreadable: [] } as const;
  return step(put(model, ...tasks), answer, ...tasks.map(({ task }) => task.id));
}

/** When a queued task that waits goes on by itself; null for every other one, and for one that waits for answers alone. */
export function timeOf({ state, lane, runAfter }: TaskRecord): number | null {
  return state === "queued" && lane === null && runAfter !== lastTime ? runAfter : null;
}

/** The last one that a `Date` can show. */
const lastTime = 8_640_000_000_000_000;

/** A page of what an owner ran that is gone. It is forgotten when nothing is left that may have to be given back. */
export function reclaim(model: Model, by: string, command: TaskCommand<"reclaim">): ModelStep {
  const { owner, after, limit, now, backoff } = command;
  if (owner === by || isAlive(model, owner)) return refuse(model, "state");
  const running = [...model.tasks.values()].filter(isRunBy(owner)).sort(byId);
  const page = running
    .filter(({ task }) => task.id > after && (task.sweepAt ?? Infinity) > now)
    .slice(0, limit);
  const next = page.length < limit ? null : (page.at(-1)?.task.id ?? null);
  const works = page.filter(({ task }) => !task.waiting);
  // Who has gone on since a crash does not cause one each time.
  const possible = works.filter(({ task }) => task.crashes > 0 || task.attempts.at(-2)?.end !== "lost");
  const tried = works.filter(({ task }) => task.crashes > 1);
  const isAlone = tried.length === 0 && possible.length === 1 && after === "" && next === null;
  const guilty = isAlone ? possible[0] : tried.length === 1 ? tried[0] : undefined;
  const guiltOf = (old: ModelTask): Guilt => ({
    counts: old !== guilty ? "not" : isAlone ? "alone" : "on trial",
    others: works.filter((each) => each !== old).length,
  });
  const reclaimed = put(model, ...page.map((old) => given(old, now, backoff, guiltOf(old))));
  // A cancel that is due can be called off, and the end of a life cannot.
  const isOver = ({ task }: ModelTask): boolean =>
    task.cancelBy === null && (task.sweepAt ?? Infinity) <= now;
  const left = [...reclaimed.tasks.values()].filter(isRunBy(owner)).filter((each) => !isOver(each));
  const answer = { ok: true, reclaimed: page.length, unreadable: [], next } as const;
  const isForgotten = next === null && left.length === 0;
  return step(retire(reclaimed, owner, isForgotten), answer, ...page.map(({ task }) => task.id));
}

export function hasClaimable(model: Model, by: string, handlers: readonly ClaimingHandler[]): boolean {
  const { tasks, suspectsWait } = claimedBy(model, by, { handlers, limit: 1 });
  return tasks.length > 0 || suspectsWait;
}

/** In the order of their names. */
export function orphanedHandlers(model: Model): readonly HandlerName[] {
  const names = queued(model).flatMap(({ task: { method, tool } }) =>
    isServed(model, { method, tool }) ? [] : [JSON.stringify({ method, tool })],
  );
  return [...new Set(names)].sort().map((name) => JSON.parse(name) as HandlerName);
}

export function queuedFor(model: Model, handler: HandlerName, page: QueuedPage): readonly string[] {
  return queued(model)
    .filter(({ task }) => runs([handler], task) && (task.blocked !== undefined) === page.blocked)
    .map(({ task }) => task.id)
    .filter((id) => id > page.after)
    .toSorted()
    .slice(0, page.limit);
}

function isRunBy(owner: string): (task: ModelTask) => boolean {
  return ({ task }) => task.state === "running" && task.owner === owner;
}

function claimedBy(model: Model, by: string, what: Claim): Claimed {
  const all = [...model.tasks.values()].map(({ task }) => task);
  const ready = all.filter(
    (task) =>
      task.state === "queued" && task.lane !== null && mayTake(model, by, task) && runs(what.handlers, task),
  );
  return inTurn(ready, all, what);
}

function queued(model: Model): readonly ModelTask[] {
  return [...model.tasks.values()]
    .filter(({ task }) => task.state === "queued")
    .sort((a, b) => at(a.task) - at(b.task) || byId(a, b));
}

function at({ runAfter }: TaskRecord): number {
  return Number(runAfter);
}
