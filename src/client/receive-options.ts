import type { TaskStore } from "../store/store.ts";

/** How the client takes a server's questions as tasks of its own (protocol 2025-11-25, and SEP-1686). */
export interface ReceiveTasksOptions {
  /**
   * Where they live: `sqliteStore("client-tasks.db")`, for questions that are still open after a restart of this
   * process, or `memoryStore()`. Connections at the same time can share one; it closes with the last of them, and is
   * of no use after that.
   */
  readonly store: TaskStore;
  /**
   * Milliseconds that a task is kept where the server asks for nothing else, which may be up to 30 days: from its beginning,
   * in SEP-1686 from its end. Default: one day.
   */
  readonly ttlMs?: number | null;
  /** Milliseconds that the server is told to wait between polls. Default 1000. */
  readonly pollIntervalMs?: number;
  /** Whether to refuse questions that do not ask for a task, with -32600; of no effect in SEP-1686. Default false. */
  readonly required?: boolean;
  /** Hears of faults that nobody is told about otherwise. Default: a line on stderr. */
  readonly onError?: (error: unknown) => void;
}
