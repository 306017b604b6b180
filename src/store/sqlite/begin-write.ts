import type { DatabaseSync } from "node:sqlite";
import { isBusy } from "./sqlite-error.ts";

/**
 * How long SQLite itself waits for the turn of a writer. Its pauses grow to 100 ms, and whoever writes without a pause would
 * have its next turn before that in most of them.
 */
export const turnMs = 3;

/** Begins a transaction that writes, when it is this connection's turn; throws what SQLite does where that takes longer. */
export function beginWrite(db: DatabaseSync, withinMs: number): void {
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
