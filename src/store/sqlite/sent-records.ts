import type { TaskRecord } from "../../task/record.ts";
import { keepNewest } from "./known-records.ts";
import type { CommandAnswer, SentAnswer } from "./writer-connection.ts";

/** The most tasks that each end remembers: those that were written last. */
const usualMost = 1_000;

/**
 * What the writer's thread sends of the tasks in its answers. A task that runs is written again and again, of its record little changes, and
 * to copy a whole one from thread to thread takes as long as to write it.
 * - Each end remembers the record that it sent or got last of each task. Both see the same answers in the same order, and forget by the same
 *   rule, so they always remember the same: what has changed is enough.
 * - Finished tasks are forgotten: most of them are never written again.
 */
export class SentRecords {
  readonly #last = new Map<string, TaskRecord>();
  readonly #most: number;

  constructor(most = usualMost) {
    this.#most = most;
  }

  /** At the end that sends. */
  pack(answer: CommandAnswer): SentAnswer {
    if (!("result" in answer) || !("task" in answer.result)) return answer;
    const { task, ...result } = answer.result;
    const changed = changesOf(this.#last.get(task.id), task);
    this.#remember(task);
    return changed === undefined ? { result, task } : { result, taskId: task.id, changed };
  }

  /** At the end that gets what `pack` returned. */
  unpack(sent: SentAnswer): CommandAnswer {
    if ("task" in sent) return this.#whole(sent.result, sent.task);
    if (!("changed" in sent)) return sent;
    const last = this.#last.get(sent.taskId);
    if (last === undefined) throw new Error(`Nothing was sent of the task ${sent.taskId} before.`);
    return this.#whole(sent.result, { ...last, ...sent.changed });
  }

  #whole(result: object, task: TaskRecord): CommandAnswer {
    this.#remember(task);
    return { result: { ...result, ok: true, task } };
  }

  #remember(task: TaskRecord): void {
    if (task.finishedAt === null) keepNewest(this.#last, task.id, task, this.#most);
    else this.#last.delete(task.id);
  }
}

/** Undefined if they do not say all: a member of the last record is gone, or there is none. */
function changesOf(last: TaskRecord | undefined, task: TaskRecord): Partial<TaskRecord> | undefined {
  if (last === undefined) return undefined;
  for (const name in last) if (!(name in task)) return undefined;
  const changed: Record<string, unknown> = {};
  for (const name in task) {
    const value: unknown = task[name as keyof TaskRecord];
    if (last[name as keyof TaskRecord] !== value) changed[name] = value;
  }
  return changed;
}
