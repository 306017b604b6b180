import type { TaskAttempt } from "../task/attempts.ts";
import type { Progress, TaskRecord } from "../task/record.ts";
import { DecryptionError, isSealed } from "../task/stored-text.ts";
import { inClear, type Codec, type Place } from "./codec.ts";

/**
 * The texts of a task's record, which other people's words may be in, and the proof that its row is still that of the same caller.
 * - Statements search by the rest of the record, so it is stored in clear.
 * - Who changes the principal, the scopes, the ids, the tool or the parent of a row makes it unreadable.
 * - The proof is written once, with the row. Where its key is missing, the record can be listed and ended, but whose it is is not known:
 *   nothing else of the task may be read for a caller.
 */
export interface StoredWords {
  readonly task: TaskRecord;
  readonly proof: string | null;
}

type Columns = "status_message" | "progress" | "error" | "stack" | "proof";

const place = (of: string, column: Columns, key?: string | number): Place => ({
  table: "task",
  column,
  of,
  ...(key !== undefined && { key }),
});

/** The record with its texts as they are stored. */
export function sealedRecord(task: TaskRecord, codec: Codec): TaskRecord {
  if (codec === inClear) return task;
  const sealed = (text: string, column: Columns, key?: number): string | null =>
    codec.sealWords(text, place(task.id, column, key));
  return withWords(task, sealed);
}

/** The record of stored words. Throws `DecryptionError`. Words whose key is missing stay as they are stored. */
export function openedRecord({ task, proof }: StoredWords, codec: Codec): TaskRecord {
  if (codec === inClear) return task;
  const isProven = codec.prove(proof, proofPlace(task));
  const opened = withWords(task, (text, column, key) => codec.openWords(text, place(task.id, column, key)));
  if (!isProven) unproven.add(opened);
  return opened;
}

const unproven = new WeakSet<TaskRecord>();

/** Throws `DecryptionError` if it is not known whose the record is, which was read from a row. */
export function assertProven(task: TaskRecord): void {
  if (unproven.has(task))
    throw new DecryptionError("it is encrypted with a key that this process does not have");
}

/** What shows later that a row is still that of the same caller. */
export function proofOf(task: TaskRecord, codec: Codec): string | null {
  return codec.proofOf(proofPlace(task));
}

function proofPlace(task: TaskRecord): Place {
  const { id, principal, generation, scope, wireId, method, tool, parent, requiredScopes } = task;
  const above = parent && [parent.id, parent.key, parent.root];
  const fixed = [principal, generation, scope, wireId, method, tool, above, requiredScopes];
  return place(id, "proof", JSON.stringify(fixed));
}

type Convert = (text: string, column: Columns, key?: number) => string | null;

function withWords(task: TaskRecord, convert: Convert): TaskRecord {
  const { statusMessage, progress, attempts } = task;
  const hasWords = attempts.some(({ error, stack }) => error !== undefined || stack !== undefined);
  if (statusMessage === null && progress?.message === undefined && !hasWords) return task;
  return {
    ...task,
    statusMessage: statusMessage === null ? null : convert(statusMessage, "status_message"),
    progress: progress === null ? null : progressWith(progress, convert),
    attempts: hasWords ? attempts.map((attempt) => attemptWith(attempt, convert)) : attempts,
  };
}

function progressWith({ message, ...numbers }: Progress, convert: Convert): Progress {
  const converted = message === undefined ? null : convert(message, "progress");
  return { ...numbers, ...(converted !== null && { message: converted }) };
}

function attemptWith(attempt: TaskAttempt, convert: Convert): TaskAttempt {
  const { error, stack, ...rest } = attempt;
  const why = error === undefined ? null : convert(error, "error", attempt.number);
  const where = stack === undefined ? null : convert(stack, "stack", attempt.number);
  return { ...rest, ...(why !== null && { error: why }), ...(where !== null && { stack: where }) };
}

/** The record as readers get it: what cannot be decrypted here is replaced by `text`. */
export function shownRecord(task: TaskRecord, text: string): TaskRecord {
  return withWords(task, (words) => (isSealed(words) ? text : words));
}
