import assert from "node:assert/strict";
import type { TaskRecord } from "../../src/task/record.ts";
import type { JournalEntry } from "../../src/task/journal.ts";
import { isOfRounds } from "./model-journal.ts";
import type { Model } from "./model-state.ts";
import type { StoreCommand } from "./model.ts";
import { hasFailed, type ModelTask } from "./model-task.ts";
import { assertRelatives } from "./relative-promises.ts";
import { assertWait, assertWaitMoved, assertWoken } from "./wait-promises.ts";

// What the guarantees need of every step, whichever owner makes it. The model says what a step does, and these say what none
// may do: stores that do as the model keeps them too.

export function assertPromises(before: Model, after: Model, command: StoreCommand): void {
  const { type } = command;
  const tasks = [...after.tasks.values()];
  for (const each of tasks) {
    assertHolder(each.task);
    assertWait(each);
  }
  // One that is taken for dead wakes nothing.
  if (command.type === "wake" && after !== before) assertWoken(before, after, command);
  // A handler can take the end from its task; but none is left where nobody knows its owner, and no real token is guessed.
  if (type !== "update") assertEnds(before, after);
  assertRelatives(after);
  assertUnique(tasks.map(({ task }) => task));
  for (const [id, old] of before.tasks) {
    const now = after.tasks.get(id);
    // A deleted task may have another one in its place.
    if (now === undefined || now.request !== old.request) continue;
    const isNext = command.type === "next_round" && command.id === id && now.task.version > old.task.version;
    const drops = (entry: JournalEntry): boolean =>
      isNext && isOfRounds(command.key, entry) && now.journal.every(({ key }) => key !== entry.key);
    assertKept(old, now, type === "retry" && now.task.failures > old.task.failures, drops);
    assertMoved(before, old.task, now.task);
    assertCancelled(old.task, now.task);
    assertWaitMoved(old, now, command);
  }
}

/** A task is held by one attempt of one owner while it runs, and by none before and after. */
function assertHolder({ state, token, owner, finishedAt }: TaskRecord): void {
  assert.equal(token !== null, state === "running");
  assert.equal(finishedAt !== null, state === "settled" || state === "cancelled");
  if (state === "running") assert.notEqual(owner, null);
  if (finishedAt !== null) assert.equal(owner, null);
}

/**
 * Guarantee 3: somebody brings every unfinished task to its end. A queued one may be taken by the owner that it is queued for,
 * and by all once that is gone or unknown. A running one has an owner who lives, or who is known as gone, so that it is
 * reclaimed; or its time is over, and any sweeper ends it.
 */
function assertEnds(before: Model, after: Model): void {
  const old = endless(before);
  for (const id of endless(after))
    assert.ok(old.includes(id), `Task ${id} runs under nobody, and has no end.`);
}

function endless({ tasks, owners }: Model): readonly string[] {
  return [...tasks.values()].flatMap(({ task: { id, state, owner, sweepAt } }) =>
    state === "running" && !owners.has(owner ?? "") && sweepAt === null ? [id] : [],
  );
}

/** Idempotency keys belong to one call of a principal, and ids on the wire to one task of their generation and scope. */
function assertUnique(tasks: readonly TaskRecord[]): void {
  const keys = tasks.flatMap(({ idempotencyKey: key, principal }) =>
    key === null ? [] : [JSON.stringify([principal, key])],
  );
  assert.equal(new Set(keys).size, keys.length);
  const wireIds = tasks.map(({ generation, scope, wireId }) => JSON.stringify([generation, scope, wireId]));
  assert.equal(new Set(wireIds).size, wireIds.length);
}

/**
 * Guarantees 2, 4 and 6: of a finished task nothing changes but its key, who waits for it, the time at which it is deleted, and that its
 * result was retrieved, and what the journal has of ended steps, answered questions and past sleeps stays there, but for what failed and is run again, and earlier rounds of loops. Guarantee 7: a task stays its principal's.
 */
function assertKept(
  old: ModelTask,
  now: ModelTask,
  isRetried: boolean,
  drops: (entry: JournalEntry) => boolean,
): void {
  assert.equal(now.task.principal, old.task.principal);
  const kept = old.journal.filter((entry) => !(isRetried && hasFailed(entry)) && !drops(entry));
  assert.deepEqual(
    now.journal.slice(0, kept.length).map(({ key }) => key),
    kept.map(({ key }) => key),
  );
  for (const [index, entry] of kept.entries()) {
    if (entry.doneAt !== null) assert.deepEqual(now.journal[index], entry);
  }
  if (old.task.finishedAt === null) return;
  const { idempotencyKey, sweepAt, awaitedBy, promised, version, retrieved } = now.task;
  const first = old.task.retrieved === undefined && retrieved !== undefined && { retrieved };
  assert.deepEqual(now.task, {
    ...old.task,
    idempotencyKey,
    sweepAt,
    awaitedBy,
    promised,
    version,
    ...first,
  });
  assert.deepEqual(now.outcome, old.outcome);
}

/** A task goes from one attempt to the next only through the queue, and from a living owner only by its own will. */
function assertMoved(before: Model, old: TaskRecord, now: TaskRecord): void {
  // A task that both asks and ends below a root that called it is two changes of that.
  const most = now.childInputs === old.childInputs ? 1 : 2;
  assert.ok(now.version >= old.version && now.version <= old.version + most);
  const begins = now.state === "running" && old.state !== "running";
  // An attempt in which the handler could not begin counts for nothing.
  const isUnbegun = old.state === "running" && now.blocked !== undefined && now.attempt < old.attempt;
  assert.equal(now.attempt, old.attempt + Number(begins) - Number(isUnbegun));
  if (isUnbegun) assert.deepEqual([now.state, now.attempts], ["queued", old.attempts.slice(0, -1)]);
  if (old.state !== "running") return;
  if (now.state === "running") assert.deepEqual([now.owner, now.token], [old.owner, old.token]);
  if (now.state === "queued" && now.crashes > old.crashes)
    assert.notEqual(
      before.owners.get(old.owner ?? "")?.lives,
      true,
      `${old.owner} lives and lost ${old.id}.`,
    );
}

/** What was asked to end is ended in time, whoever sees to it: nothing puts that off. */
function assertCancelled(old: TaskRecord, now: TaskRecord): void {
  if (old.cancelRequestedAt === null) return;
  assert.equal(now.cancelRequestedAt, old.cancelRequestedAt);
  if (now.finishedAt !== null || old.cancelBy === null) return;
  assert.equal(now.cancelBy, old.cancelBy);
  assert.ok(now.sweepAt !== null && now.sweepAt <= old.cancelBy);
}
