import { isOfPrepare } from "../runtime/execution/prepare-in-task.ts";
import { requestHash } from "../runtime/request-hash.ts";
import type { TaskStore } from "../store/store.ts";
import type { NewTask, TaskRecord, TaskRequest } from "../task/record.ts";
import { HoldfastError } from "../task/fault.ts";
import type { JournalEntry } from "../task/journal.ts";
import type { RetryOptions } from "./admin.ts";

/** The maximum size of the journal that a rerun starts with, since it is stored in one write. */
const mostKeptBytes = 16 * 1024 * 1024;
/** The number of entries to read at a time. */
const page = 200;

interface Rerun {
  /** The id of the new task. */
  readonly id: string;
  readonly now: number;
  readonly options: RetryOptions;
}

/** Creates a task that runs an ended one again: for the same caller, with the same lifetime, and its own id. */
export function rerunOf(
  old: TaskRecord,
  request: TaskRequest,
  { id, now, options }: Rerun,
): { readonly task: NewTask; readonly request: TaskRequest } {
  const hasOwn = options.arguments !== undefined;
  const { generation, principal, method, tool, requiredScopes, expiry, pollIntervalMs } = old;
  const { capabilities, caller, trace, prepareInTask, received, toolScopes } = request.origin;
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
      },
      arguments: hasOwn ? JSON.stringify(options.arguments) : request.arguments,
      prepared: hasOwn ? null : request.prepared,
    },
  };
}

/**
 * A task's journal up to the end of an entry, without failed and unfinished entries, in the order of their ends, which a replay follows.
 * Rejects with `invalid_params` if the journal has no such entry, or it did not succeed.
 */
export async function journalUpTo(
  store: TaskStore,
  id: string,
  options: RetryOptions,
  key: string,
): Promise<readonly JournalEntry[]> {
  const entries: JournalEntry[] = [];
  let bytes = 0;
  for (let from: string | null = ""; from !== null;) {
    const part: Awaited<ReturnType<TaskStore["journal"]>> = await store.journal(id, from, page);
    for (const head of part.entries) {
      if (options.arguments !== undefined && isOfPrepare(head.key)) continue; // `prepare` runs again, with the new arguments
      bytes += head.bytes;
      if (bytes > mostKeptBytes)
        throw new HoldfastError("too_large", `The journal of ${id} is too large to start a new task with.`);
      const entry = head.doneAt === null ? undefined : await store.journalEntry(id, head.key);
      if (entry?.error === null) entries.push(entry);
    }
    from = part.next;
  }
  const inOrder = entries.sort((a, b) => (a.doneVersion ?? 0) - (b.doneVersion ?? 0));
  const last = inOrder.findIndex((entry) => entry.key === key);
  if (last === -1) {
    const problem = `The journal of ${id} has no "${key}" that succeeded.`;
    throw new HoldfastError("invalid_params", problem);
  }
  // One command ends all of them: the one that creates the task.
  return inOrder.slice(0, last + 1).map((entry) => ({ ...entry, doneVersion: 1 }));
}
