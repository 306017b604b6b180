import assert from "node:assert/strict";
import type { TaskCommand } from "../../src/task/command.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import type { Model } from "./model-state.ts";
import { timeOf } from "./model-queue.ts";
import type { StoreCommand } from "./model.ts";
import { openOf } from "./model-journal.ts";
import type { ModelTask } from "./model-task.ts";

// What tasks that wait may rely on: that no one is forgotten, nor runs for nothing.

/** A task is in a lane, or waits for something that can come; a handler that rests, too, would be parked with such a wait. */
export function assertWait(each: ModelTask): void {
  const { state, lane, runAfter, waiting, finishedAt, cancelRequestedAt } = each.task;
  if (lane !== null) assert.deepEqual([state, waiting], ["queued", false]);
  if (state === "queued") assert.notEqual(runAfter, null);
  if (finishedAt !== null) assert.deepEqual([runAfter, waiting], [null, false]);
  if (!isParked(each.task) && !rests(each.task)) return;
  assert.equal(waiting, true);
  // Only a question, a call or an event can wake what has no time of its own; and a cancel is nothing to wait for.
  if (timeOf({ ...each.task, state: "queued" }) === null) assert.notEqual(openOf(each).length, 0);
  assert.equal(cancelRequestedAt, null);
}

const isRunAnew: ReadonlySet<string> = new Set(["retry", "next_round", "block", "orphan", "unblock"]);

/** Whatever comes wakes the task, and nothing else does. */
export function assertWaitMoved(old: ModelTask, now: ModelTask, command: StoreCommand): void {
  if (hasCome(old, now) && now.task.finishedAt === null) {
    assert.ok(!isParked(now.task) && !rests(now.task), `${now.task.id} waits on beside what has come`);
    if (isParked(old.task)) assert.equal(now.task.lane, "woken");
  }
  if (old.task.state === "queued" && now.task.state === "running" && command.type === "claim")
    assert.notEqual(old.task.lane, null);
  if (rests(now.task) && (!rests(old.task) || now.task.runAfter !== old.task.runAfter)) {
    // The attempt has seen every answer that there is.
    const said = "rest" in command ? command.rest?.open : undefined;
    assert.equal(said, openOf(now).length);
  }
  // What failed, or does not fit its code, is run again, whatever it waited for, and so is who waits for a limit and asks for it no more.
  const asksAgain = old.task.waitsFor === "limit" && command.type !== "park";
  if (rests(old.task) && now.task.state === "queued" && asksAgain) assert.equal(now.task.waiting, false);
  else if (rests(old.task) && now.task.state === "queued" && !isRunAnew.has(command.type))
    assert.deepEqual([isParked(now.task), now.task.crashes], [true, old.task.crashes]);
  if (
    old.task.state === "queued" &&
    now.task.state === "queued" &&
    !hasCome(old, now) &&
    command.type !== "wake" &&
    !isRunAnew.has(command.type)
  ) {
    const { lane, runAfter, waiting } = old.task;
    assert.deepEqual([now.task.lane, now.task.runAfter, now.task.waiting], [lane, runAfter, waiting]);
  }
}

/** None is left behind whose time has come, unless there were more of them than were to be woken. */
export function assertWoken(before: Model, after: Model, { now, limit }: TaskCommand<"wake">): void {
  const due = ({ tasks }: Model): readonly TaskRecord[] =>
    [...tasks.values()].map(({ task }) => task).filter((task) => (timeOf(task) ?? Infinity) <= now);
  const wanted = due(before);
  assert.equal(due(after).length, Math.max(0, wanted.length - limit));
  for (const [id, { task }] of after.tasks) {
    const old = before.tasks.get(id)?.task;
    if (old?.version === task.version) continue;
    assert.ok(wanted.some((each) => each.id === id));
    const recovered = task.crashes > 1 ? "suspect" : "recovered";
    assert.equal(task.lane, old?.waiting === true ? "woken" : recovered);
  }
}

function isParked({ state, waiting }: TaskRecord): boolean {
  return state === "queued" && waiting;
}

function rests({ state, runAfter }: TaskRecord): boolean {
  return state === "running" && runAfter !== null;
}

/** Something in the journal has ended, a step was made, or the task is to be cancelled. */
function hasCome(old: ModelTask, now: ModelTask): boolean {
  const ends = ({ journal }: ModelTask): number => journal.filter(({ doneAt }) => doneAt !== null).length;
  return ends(now) > ends(old) || now.task.cancelRequestedAt !== old.task.cancelRequestedAt;
}
