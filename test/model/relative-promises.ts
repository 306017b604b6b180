import assert from "node:assert/strict";
import { openOf } from "./model-journal.ts";
import { below, childrenOf } from "./model-relatives.ts";
import type { Model } from "./model-state.ts";
import type { ModelTask } from "./model-task.ts";

// What tasks of tasks may rely on: that no call is forgotten, and that nothing runs on for nobody.

export function assertRelatives(model: Model): void {
  for (const each of model.tasks.values()) {
    if (each.task.parent !== null) assertChild(model, each);
    if (each.task.finishedAt === null) assertCaller(model, each);
    else assertUnwanted(model, each.task.id);
  }
}

/** A task of a task is there until it ends, or as long as its root if it failed or was cut off; one whose parent is gone is to be cancelled. */
function assertChild({ tasks }: Model, { task }: ModelTask): void {
  const { parent, finishedAt, outcomeKind, cancelRequestedAt } = task;
  if (finishedAt !== null) {
    assert.equal(tasks.has(parent?.root ?? ""), true);
    if (task.state === "cancelled") assert.equal(task.journalled, true);
    else assert.match(outcomeKind ?? "", /^error/);
    return;
  }
  if (!tasks.has(parent?.id ?? "")) assert.notEqual(cancelRequestedAt, null);
}

/** There is a task for each open call, and others only until they have heard that a round of a loop ended; a root counts what is asked below it. */
function assertCaller(model: Model, each: ModelTask): void {
  const { id, openInputs, childInputs, openWaits, parent } = each.task;
  const open = openOf(each);
  const calls = open.filter(({ kind }) => kind === "call").map(({ key }) => key);
  const called = childrenOf(model, id).map(({ task }) => ({ ...task, key: task.parent?.key ?? "" }));
  for (const call of calls) assert.ok(called.some(({ key }) => key === call));
  for (const { key, cancelRequestedAt } of called)
    if (!calls.includes(key)) assert.notEqual(cancelRequestedAt, null);
  const asked = (task: ModelTask): number => openOf(task).filter(({ kind }) => kind === "input").length;
  const counted = below(model, id).reduce((sum, task) => sum + asked(task), 0);
  assert.equal(childInputs, counted);
  if (parent !== null) assert.equal(childInputs, 0);
  assert.equal(openInputs, asked(each) + counted);
  assert.equal(openWaits, open.length - asked(each));
}

function assertUnwanted(model: Model, id: string): void {
  for (const { task } of childrenOf(model, id)) assert.notEqual(task.cancelRequestedAt, null);
}
