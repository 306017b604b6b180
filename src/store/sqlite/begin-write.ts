import type { DatabaseSync } from "node:sqlite";
import { isBusy } from "./sqlite-error.ts";

/**
 * How long SQLite itself waits for a writer's turn. Its pauses grow to 100 ms, in which a process that writes continuously would mostly
 * take the next turn too.
 */
export const turnMs = 3;

/** Begins a write transaction when it is this connection's turn; throws SQLite's error if that takes longer. */
export function beginWrite(db: Pick<DatabaseSync, "exec">, withinMs: number): void {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      db.exec("BEGIN IMMEDIATE");
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
    }
  }
}
