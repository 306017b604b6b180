import type { JournalEntry, JournalKey } from "../../task/journal.ts";

/**
 * What the calls of a task context need from whoever runs the handler: a durable attempt, or a direct run that
 * keeps no record.
 */
export interface AttemptJournal {
  readonly taskId: string;
  readonly wireId: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly maxBodyBytes: number;
  /** Takes a key for this attempt; rejects with `duplicate_key` when the attempt used it before. */
  claim(key: JournalKey): string;
  /** What an earlier attempt journalled under the key. */
  find(key: string): JournalEntry | undefined;
  /** Resolves when an entry that has ended may end again: in the order in which the entries ended first. */
  replayed(entry: JournalEntry): Promise<void>;
  /** Rejects where the attempt is to end; never settles where it was given back, so that its code stops here. */
  checkpoint(): Promise<void>;
  /** Awaited before anything that is journalled begins: a checkpoint, and the mark that the attempt can be resumed. */
  begin(): Promise<void>;
  /** Runs a step and records it: work, for which a slot is needed. */
  working<T>(work: () => Promise<T>): Promise<T>;
  /** Records what `prepare` returned in the run; what begins after it is the handler itself. */
  recordPrepared(key: string, value: string | null): Promise<void>;
  recordStep(key: string, value: string | null, error: string | null): Promise<void>;
}
