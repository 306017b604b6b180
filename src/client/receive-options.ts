import type { TaskStore } from "../store/store.ts";

/** How the client accepts a server's questions as tasks of its own, in protocol 2025-11-25 and SEP-1686. */
export interface ReceiveTasksOptions {
  /**
   * Where they are stored: `sqliteStore("client-tasks.db")` for questions that stay open after a restart of this process, or
   * `memoryStore()`. Connections at the same time can share a store; it closes with the last of them and cannot be
   * opened again.
   */
  readonly store: TaskStore;
  /**
   * How long a task is kept, in milliseconds from its creation, in SEP-1686 from its end. A server may ask for another
   * value of up to 30 days. Default: one day.
   */
  readonly ttlMs?: number | null;
  /** The poll interval that the server is told to keep, in milliseconds. Default 1000. */
  readonly pollIntervalMs?: number;
  /** Whether to refuse questions that do not ask for a task, with -32600. Has no effect in SEP-1686. Default false. */
  readonly required?: boolean;
  /** Called with errors that no caller is told about. Default: prints a line to stderr. */
  readonly onError?: (error: unknown) => void;
}
