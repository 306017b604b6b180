import { createHash } from "node:crypto";

/**
 * Limits by name: how many steps may run at a time, and start within a minute, over all processes that share a store.
 * - A permit belongs to an attempt of a task, by its token: when the attempt has lost its task, the permit is free.
 * - Who waits has a place in line. Principals take turns.
 * - Times are those of the store: on Postgres, the database's clock.
 */

/** The step of an attempt that has or wants a permit. */
export interface LimitHolder {
  readonly taskId: string;
  /** The key of the step in the journal; empty for a handler. */
  readonly entry: string;
  /** The token of the attempt; empty for a run without a task, which counts as long as its process lives. */
  readonly token: string;
}

/** In whose turn somebody waits: a digest of the principal. */
export function turnOfPrincipal(principal: string | null): string {
  return createHash("sha256")
    .update(principal ?? "")
    .digest("base64url");
}

/** One that begins to wait. */
export interface LimitJoin extends LimitHolder {
  /** `turnOfPrincipal`. */
  readonly turnOf: string;
  /** What has begun lives on without the attempt: its permit stays until its task has ended, and the next attempt takes it over. */
  readonly livesOn?: true;
}

/** What a process has to do with one limit: all of its steps together. */
export interface LimitCall {
  /** The name, or the name and a key, in the form of journal keys. */
  readonly name: string;
  /** How many may run at a time; null: any number. The numbers of whoever asks count. */
  readonly concurrency: number | null;
  /** How many may start within `windowMs`; null: any number. */
  readonly starts: number | null;
  readonly windowMs: number;
  /** Epoch ms; for a store without a clock. */
  readonly now: number;
  /** What the clock showed before it was last set ahead in this process, and after (epoch ms). Left out if it was not. */
  readonly setAhead?: { readonly before: number; readonly after: number } | undefined;
  readonly joins: readonly LimitJoin[];
  /** They have ended, or no longer wait. */
  readonly leaves: readonly LimitHolder[];
  /** From now on nobody gets a permit for so long (ms); a longer pause stays. Null: no pause. */
  readonly pauseMs: number | null;
}

/** What a store says of a limit to a process that asks for permits. */
export interface LimitAnswer {
  readonly ok: true;
  /** Those of this process that have a permit from now on. */
  readonly granted: readonly LimitHolder[];
  /** How many of this process wait. */
  readonly waiting: number;
  /** When a permit comes free by itself (ms from now); null if that is not known. */
  readonly againMs: number | null;
}

/** A task's place in a limit. */
export interface LimitPlace extends Omit<LimitHolder, "token"> {
  readonly name: string;
  readonly isWaiting: boolean;
  /** Since when it waits, or has its permit (epoch ms). */
  readonly since: number;
}

/** The limits of a store. */
export interface LimitStore {
  /** Applies all that a process has to do with one limit, and gives permits to whoever waits, in any process. */
  call(call: LimitCall): Promise<LimitAnswer>;
  /** The places of a task, by name and entry. */
  ofTask(taskId: string): Promise<readonly LimitPlace[]>;
}
