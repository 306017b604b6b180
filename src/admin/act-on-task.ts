import type { BulkPlace } from "../task/bulk.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../task/command.ts";
import { isTerminal } from "../task/outcome.ts";
import type { ActionBy, TaskRecord, NewTask, TaskRequest } from "../task/record.ts";
import { taskId } from "../task/record-changes.ts";
import type { TaskStore } from "../store/store.ts";
import type { RetryOptions } from "./admin.ts";
import { invalid } from "./operation.ts";
import { notBlocked, refusal, retried, unfinished, unknown } from "./admin-store-of.ts";
import { isOfPrepare } from "../runtime/execution/prepare-in-task.ts";
import { requestHash } from "../runtime/call-keys.ts";
import { HoldfastError } from "../task/fault.ts";
import { finishedEntries } from "../runtime/journal/claimed-keys.ts";
import type { JournalEntry } from "../task/journal.ts";
import { stepOfArtifact } from "../task/artifact.ts";

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
      throw invalid(
        `The arguments are larger than ${maxBodyBytes} bytes, the most that maxBodyBytes allows.`,
      );
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

/** Of what may be kept, in a refusal. */
const mostNamed = 20;

interface Rerun {
  /** The id of the new task. */
  readonly id: string;
  readonly now: number;
  readonly options: RetryOptions;
}

/**
 * Creates a task that runs an ended one again: for the same caller, with the same lifetime, and its own id. Its steps have the idempotency
 * keys of the old one's, so that a service knows what it has done before, unless it runs from the start, as new.
 */
export function rerunOf(
  old: TaskRecord,
  request: TaskRequest,
  { id, now, options }: Rerun,
): { readonly task: NewTask; readonly request: TaskRequest } {
  const hasOwn = options.arguments !== undefined;
  const { generation, principal, method, tool, requiredScopes, expiry, pollIntervalMs } = old;
  const { capabilities, caller, trace, prepareInTask, received, toolScopes } = request.origin;
  const { stepKeys = old.id } = request.origin;
  return {
    task: {
      id,
      wireId: id,
      // A task that a handler called has no caller for a rerun.
      generation: generation === "child" ? "plain" : generation,
      scope: old.scope,
      principal,
      method,
      tool,
      idempotencyKey: null,
      requestHash: hasOwn ? requestHash(tool, options.arguments) : old.requestHash,
      requiredScopes,
      expiry,
      runUntil: old.runUntil === null ? null : now + Math.max(0, old.runUntil - old.createdAt),
      pollIntervalMs,
      statusMessage: null,
      ...(old.notifies && { notifies: old.notifies }),
    },
    request: {
      origin: {
        capabilities,
        ...(caller && { caller }),
        ...(trace && { trace }),
        // Prepared arguments belong to the old ones, and no caller waits for `prepare`.
        ...((prepareInTask === true || hasOwn) && { prepareInTask: true as const }),
        ...(received && { received }),
        ...(toolScopes && { toolScopes }),
        retryOf: old.id,
        ...(options.fromStart !== true && { stepKeys }),
        ...(keepsAll(options) && { takesUp: true as const }),
      },
      arguments: hasOwn ? JSON.stringify(options.arguments) : request.arguments,
      prepared: hasOwn ? null : request.prepared,
    },
  };
}

/** Whether nothing that succeeded is repeated, by the task itself or by those that it calls. */
export function keepsAll({ arguments: given, keepUpTo, fromStart }: RetryOptions): boolean {
  return given === undefined && keepUpTo === undefined && fromStart !== true;
}

/**
 * What the new task keeps of the old one's journal: everything that succeeded but artifacts, whose bytes are the old task's own, up to the end of `keepUpTo` if that is given. Results for
 * other arguments are not kept, unless `keepUpTo` says so; `prepare` then still runs again. Rejects with `invalid_params` if the journal has
 * no such entry, or it did not succeed.
 */
export async function keptJournal(
  store: TaskStore,
  id: string,
  { arguments: given, keepUpTo, fromStart }: RetryOptions,
): Promise<readonly JournalEntry[]> {
  const hasOwn = given !== undefined;
  if (fromStart === true || (hasOwn && keepUpTo === undefined)) return [];
  const entries = await finishedEntries(store, id, (key) => !hasOwn || !isOfPrepare(key));
  if (keepUpTo === undefined) return withoutArtifacts(entries);
  const last = entries.findIndex(({ key }) => key === keepUpTo);
  if (last === -1) {
    const problem = `The journal of ${id} has no "${keepUpTo}" that succeeded`;
    throw new HoldfastError("invalid_params", `${problem}. ${keysText(entries)}`);
  }
  const { doneAt } = entries[last] ?? {};
  const kept = entries.filter(({ kind, begunAt }, at) => {
    if (kind !== "loop") return at <= last;
    return (begunAt ?? 0) <= (doneAt ?? 0); // its first round had ended by then
  });
  return withoutArtifacts(kept);
}

/** What an operator may have meant: keys often have an item or a number in them. */
function keysText(entries: readonly JournalEntry[]): string {
  if (entries.length === 0) return "Nothing in it did.";
  const named = entries
    .slice(0, mostNamed)
    .map(({ key }) => (key.length > 200 ? `${key.slice(0, 200)}…` : key));
  const more = entries.length > mostNamed ? `, and ${entries.length - mostNamed} more` : "";
  return `These did: ${named.join(", ")}${more}.`;
}

/** Nor the steps whose outputs they are, which are nowhere else. */
function withoutArtifacts(entries: readonly JournalEntry[]): readonly JournalEntry[] {
  const steps = entries.map(({ kind, value }) =>
    kind === "artifact" && value !== null ? stepOfArtifact(value) : undefined,
  );
  return entries.filter(({ kind, key }) => kind !== "artifact" && !steps.includes(key));
}
