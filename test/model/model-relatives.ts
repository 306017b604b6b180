import type { JournalEntry } from "../../src/task/journal.ts";
import { byId, put, type Answer, type Model, type ModelStep } from "./model-state.ts";
import { changed, type ChangeCommand, type ModelTask } from "./model-task.ts";
import { closedBy, isOpen, openOf } from "./model-journal.ts";
import { askedToCancel, goesOn } from "./model-waiting.ts";

// Tasks of tasks: what a change of one does to those around it, in the same commit.

/** The failed ones that are kept below a task that a requestor made, until it is deleted. */
export function endedBelow(model: Model, root: string): readonly string[] {
  const ended = [...model.tasks.values()].filter(({ task }) => task.finishedAt !== null);
  return ended.flatMap(({ task }) => (task.parent?.root === root ? task.id : []));
}

/** The tasks that a task called and that have not ended. */
export function childrenOf({ tasks }: Model, id: string): readonly ModelTask[] {
  const called = [...tasks.values()].filter(({ task }) => task.parent?.id === id);
  return called.filter(({ task }) => task.finishedAt === null).sort(byId);
}

/** All that are below a task that a requestor made, and have not ended. */
export function below({ tasks }: Model, root: string): readonly ModelTask[] {
  const unfinished = [...tasks.values()].filter(({ task }) => task.finishedAt === null);
  return unfinished.filter(({ task }) => task.parent?.root === root).sort(byId);
}

/**
 * A change of one task, with what it does to the others. A task of a task goes when it ends: its parent's journal has the outcome. One that
 * failed, or was cut off, stays as long as its root.
 */
export function stepAround(
  model: Model,
  old: ModelTask,
  next: ModelTask,
  command: ChangeCommand,
  answer: Answer,
): ModelStep {
  const { id, parent, finishedAt } = next.task;
  const others = [...above(model, old, next, command), ...told(model, next, command)];
  const root = model.tasks.get(parent?.root ?? "");
  const hasFailed = next.outcome !== null && next.outcome.kind !== "result";
  const wasCut = next.task.state === "cancelled" && next.task.journalled && root?.outcome?.kind !== "result";
  const isKept = parent !== null && finishedAt !== null && (hasFailed || wasCut) && root !== undefined;
  const own = isKept ? { ...next, task: { ...next.task, sweepAt: null } } : next;
  const after = put(model, ...others, own);
  const isGone = parent !== null && finishedAt !== null && !isKept;
  const tasks = new Map([...after.tasks].filter(([other]) => !isGone || other !== id));
  const changes = [
    ...others.map(({ task }) => ({ id: task.id, version: task.version, isRelative: true as const })),
    { id, version: isGone ? null : next.task.version },
  ];
  return { model: { ...after, tasks }, answer, changes };
}

/** The root counts questions, and the parent's call ends. Those that have ended, or are gone, are not concerned. */
function above(model: Model, old: ModelTask, next: ModelTask, command: ChangeCommand): readonly ModelTask[] {
  const { parent, openInputs, finishedAt } = next.task;
  if (parent === null) return [];
  const changedOnes = new Map<string, ModelTask>();
  const concerned = (id: string): ModelTask | undefined => {
    const found = changedOnes.get(id) ?? model.tasks.get(id);
    return found?.task.finishedAt === null ? found : undefined;
  };
  const more = openInputs - old.task.openInputs;
  const root = concerned(parent.root);
  if (root !== undefined && more !== 0) {
    const counts = { openInputs: root.task.openInputs + more, childInputs: root.task.childInputs + more };
    changedOnes.set(parent.root, changed(root, { task: { ...counts, updatedAt: command.now } }));
  }
  const caller = concerned(parent.id);
  // A round of a loop that has ended wants no more of it.
  const isWanted = caller?.journal.some(
    (entry) => entry.key === parent.key && entry.kind === "call" && isOpen(entry),
  );
  if (caller !== undefined && isWanted === true && finishedAt !== null)
    changedOnes.set(parent.id, callEnded(caller, parent.key, next, command));
  return [...changedOnes.values()];
}

function callEnded(
  caller: ModelTask,
  key: string,
  child: ModelTask,
  { type, now }: ChangeCommand,
): ModelTask {
  const { task, journal } = caller;
  const done = { doneAt: now, doneVersion: task.version + 1, ...callEnd(child, type === "expire") };
  const call = journal.filter((entry) => entry.key === key && entry.kind === "call" && isOpen(entry));
  return changed(caller, {
    now,
    task: { ...goesOn(task, now), openWaits: task.openWaits - 1, crashes: 0 },
    entries: call.map((entry) => ({ ...entry, ...done })),
  });
}

/** A result as it is; all else as what the call failed with. */
function callEnd({ outcome }: ModelTask, expired: boolean): Pick<JournalEntry, "value" | "error"> {
  if (outcome?.kind === "result") return { value: outcome.body, error: null };
  const failed = expired ? '{"reason":"expired",' : '{"reason":"failed",';
  if (outcome?.kind === "error_result") return { value: null, error: `${failed}"result":${outcome.body}}` };
  if (outcome?.kind === "error") return { value: null, error: `${failed}"error":${outcome.body}}` };
  return { value: null, error: '{"reason":"cancelled"}' };
}

/** Those that it called are no longer wanted when it ends, or is to be cancelled. */
function told(model: Model, { task }: ModelTask, command: ChangeCommand): readonly ModelTask[] {
  const { type, now } = command;
  if (task.finishedAt === null && type !== "request_cancel" && type !== "next_round") return [];
  const old = model.tasks.get(task.id);
  const closed =
    command.type === "next_round" && old !== undefined ? closedBy(command, openOf(old)) : undefined;
  const keys = closed?.map(({ key }) => key);
  const wanted = childrenOf(model, task.id).filter(
    (child) =>
      child.task.cancelRequestedAt === null &&
      (keys === undefined || keys.includes(child.task.parent?.key ?? "")),
  );
  return wanted.map((child) => {
    const grace = child.task.parent?.cancelGraceMs ?? 0;
    return changed(child, { task: askedToCancel(child.task, now, now + grace) });
  });
}
