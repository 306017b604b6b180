import type { BulkPlace } from "../task/bulk.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../task/command.ts";
import { isTerminal } from "../task/outcome.ts";
import type { ActionBy, TaskRecord } from "../task/record.ts";
import { taskId } from "../task/record-changes.ts";
import type { TaskStore } from "../store/store.ts";
import type { RetryOptions } from "./admin.ts";
import { invalid } from "./operation.ts";
import { notBlocked, refusal, retried, unfinished, unknown } from "./refusals.ts";
import { keepsAll, keptJournal, rerunOf } from "./rerun.ts";

/** What actions need besides the store. */
export interface ActServices {
  readonly store: TaskStore;
  readonly now: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  /** The maximum size of arguments and answers. */
  readonly maxBodyBytes: number;
  /** Called after each change, for a process that runs tasks of the store. */
  readonly onChange?: () => void;
}

/** What the write of an action also records: who acted, or the task of a bulk job. */
export type Recorded = { readonly by: ActionBy } | { readonly bulk: BulkPlace };

/** Given what else is to be known of the action, and the task that it affects if that is not the command's. */
export type Recording = (detail?: ActionBy["detail"], about?: string) => Recorded;

const cancelled = "Cancelled by an operator.";

/** What operators do to one task, alone or among others. Rejects if the task does not allow it. */
export class TaskActs {
  readonly #services: ActServices;

  constructor(services: ActServices) {
    this.#services = services;
  }

  async cancel(id: string, recording: Recording): Promise<TaskRecord> {
    const command = { type: "cancel", now: this.#services.now(), id, statusMessage: cancelled } as const;
    return this.#changed(id, await this.write({ ...command, ...recording() }));
  }

  async extend(id: string, until: number | null, recording: Recording): Promise<TaskRecord> {
    const now = this.#services.now();
    if (until !== null && until <= now) throw invalid("The new end of a task must be in the future.");
    return this.#changed(id, await this.write({ type: "extend", now, id, until, ...recording({ until }) }));
  }

  async unblock(id: string, recording: Recording): Promise<TaskRecord> {
    const result = await this.write({ type: "unblock", now: this.#services.now(), id, ...recording() });
    if (!result.ok && result.reason === "state") throw notBlocked(id);
    return this.#changed(id, result);
  }

  async delete(id: string, recording: Recording): Promise<void> {
    const result = await this.write({ type: "delete", now: this.#services.now(), id, ...recording() });
    if (!result.ok && result.reason === "state") throw unfinished(id, "deleted");
    if (!result.ok) throw refusal(id, result);
  }

  /** Resolves with the new task. */
  async retry(id: string, options: RetryOptions, recording: Recording): Promise<TaskRecord> {
    const { store, now, randomBytes, maxBodyBytes } = this.#services;
    const old = await this.task(id);
    if (!isTerminal(old.state)) throw unfinished(id, "run again");
    const request = await store.request(id);
    if (request === undefined) throw unknown(id);
    const { keepUpTo, fromStart } = options;
    const isChoice = !keepsAll(options);
    if (keepUpTo !== undefined && fromStart === true) throw invalid("Give either keepUpTo or fromStart.");
    if (old.retriedAs !== undefined && !isChoice) throw retried(id, old.retriedAs);
    const journal = await keptJournal(store, id, options);
    const newId = taskId(now(), randomBytes);
    const rerun = rerunOf(old, request, { id: newId, now: now(), options });
    if (Buffer.byteLength(rerun.request.arguments) > maxBodyBytes)
      throw invalid(`The arguments are larger than ${maxBodyBytes} bytes.`);
    const detail = {
      ranAgainAs: newId,
      ...(keepUpTo !== undefined && { keepUpTo }),
      ...(fromStart === true && { fromStart }),
    };
    const result = await this.write({
      type: "create",
      now: now(),
      ...rerun,
      token: null,
      forAnyOwner: true,
      promised: true,
      ...(journal.length > 0 && { journal }),
      retryOf: { id, known: isChoice ? (old.retriedAs ?? null) : null },
      ...recording(detail, id),
    });
    if (result.ok) return result.task;
    throw result.reason === "retried" ? retried(id, (await this.task(id)).retriedAs) : refusal(id, result);
  }

  async task(id: string): Promise<TaskRecord> {
    const task = await this.#services.store.get(id);
    if (task === undefined) throw unknown(id);
    return task;
  }

  async write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>> {
    const result = await this.#services.store.write(command);
    this.#services.onChange?.();
    return result;
  }

  #changed(id: string, result: CommandResult<"cancel" | "extend" | "unblock">): TaskRecord {
    if (!result.ok) throw refusal(id, result);
    return result.task;
  }
}
