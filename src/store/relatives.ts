import { callEndOf, isTerminal } from "../task/outcome.ts";
import type { TaskCommandName } from "../task/command.ts";
import { decide, type Circumstances, type Decision, type TaskChangeCommand } from "../task/decide.ts";
import type { JournalEntry } from "../task/journal.ts";
import type { TaskRecord } from "../task/record.ts";

/** The tasks around a task that a change of it can affect. Missing and unreadable tasks are left out. */
export interface Relatives {
  readonly root?: TaskRecord | undefined;
  readonly parent?: TaskRecord | undefined;
  /** The parent's journal entry of the call. */
  readonly call?: JournalEntry | undefined;
  /** The unfinished tasks that it called. */
  readonly children: readonly TaskRecord[];
}

/** Whether a command can end a task, or change which of its questions are open. */
export function concernsParents(type: TaskCommandName): boolean {
  return endsTask(type) || opensOrCloses.includes(type);
}

const opensOrCloses: readonly TaskCommandName[] = ["open_input", "close_wait", "answer_inputs", "next_round"];

/** Whether the tasks below are affected by such a command. */
export function concernsChildren(type: TaskCommandName): boolean {
  return endsTask(type) || type === "request_cancel" || type === "next_round";
}

function endsTask(type: TaskCommandName): boolean {
  return type === "settle" || type === "fail" || type === "expire" || type === "cancel";
}

/**
 * What a change of a task does to the tasks around it, in the same commit: its parent's call ends with it, its root counts its
 * questions, and the cancel of its children is requested when it ends or is to be cancelled, or the round of a loop that called them ends.
 */
export function changesOfRelatives(
  before: TaskRecord,
  command: TaskChangeCommand,
  decision: Decision,
  { root, parent, call, children }: Relatives,
  { owner }: Pick<Circumstances, "owner">,
): readonly Decision[] {
  const { now } = command;
  const after = decision.task;
  const above = new Map<string, { task: TaskRecord; decision: Decision | undefined }>();
  for (const task of [root, parent])
    if (task !== undefined) above.set(task.id, { task, decision: undefined });
  const apply = (id: string, change: TaskChangeCommand): void => {
    const relative = above.get(id);
    if (relative === undefined) return;
    const entry = (key: string): JournalEntry | undefined => (call?.key === key ? call : undefined);
    const decided = decide(relative.task, change, { owner, entry });
    if (!decided.ok) return; // it has ended
    const { before: first = relative.task, journal: earlier = [] } = relative.decision ?? {};
    const whole = { ...decided, before: first, journal: [...earlier, ...decided.journal] };
    above.set(id, { task: decided.task, decision: whole });
  };
  const by = after.openInputs - before.openInputs;
  if (root !== undefined && by !== 0) apply(root.id, { type: "count_inputs", now, id: root.id, by });
  const ended = isTerminal(after.state) && !isTerminal(before.state);
  if (parent !== undefined && before.parent !== null && ended) {
    const { id, key } = before.parent;
    apply(id, { type: "end_call", now, id, key, ...callEndOf(decision.outcome, command.type === "expire") });
  }
  const changedAncestors = [...above.values()].flatMap((relative) => relative.decision ?? []);
  const isNextRound = command.type === "next_round";
  const { forgets } = decision;
  const closed = typeof forgets === "object" ? forgets.open : [];
  const cancelled = children.flatMap((child) => {
    const { id, parent: link } = child;
    if (isNextRound && !closed.includes(link?.key ?? "")) return [];
    const cancelBy = now + (link?.cancelGraceMs ?? 0);
    const decided = decide(
      child,
      { type: "request_cancel", now, id, cancelBy },
      { owner, entry: () => undefined },
    );
    return decided.ok && decided.task.version > child.version ? [decided] : [];
  });
  return [...changedAncestors, ...cancelled];
}

/**
 * Whether a child that has ended stays below its root. One that failed does, so that operators can see why, and one that was cancelled with something in its journal: if its root is run again,
 * the call begins with what it had finished. A root that succeeded is not.
 */
export function isKeptBelow(root: TaskRecord, { state, outcomeKind, journalled }: TaskRecord): boolean {
  if (state === "cancelled") return journalled && root.outcomeKind !== "result";
  return outcomeKind !== null && outcomeKind !== "result";
}
