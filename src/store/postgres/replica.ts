import { setTimeout as pause } from "node:timers/promises";
import { columnsOf, integer, integerOrNull, text, toStored } from "../row.ts";
import type { Database, Queries } from "./database.ts";
import type { Names } from "./names.ts";

/** How many connections to it a process opens at most. */
export const mostToReplica = 4;

/** How long a read waits until the replica has what was committed before (ms), and how often it looks. */
const patienceMs = 250;
const lookEveryMs = 10;

/** How long the database itself is read after the replica failed (ms). */
const restMs = 10_000;

/**
 * A standby that lists and charts are read from. Only one that has this process among the owners of the schema counts: another one has other
 * tasks, or is so far behind that it misses all that the process has done.
 */
export class Replica {
  readonly #sql: ReplicaStatements;
  readonly #owner: string;
  readonly #primary: Pick<Database, "read">;
  readonly #replica: Pick<Database, "read">;
  readonly #now: () => number;
  #restsUntil = -Infinity;
  readonly codecs: Database["codecs"];

  constructor(
    names: Names,
    owner: string,
    primary: Pick<Database, "read" | "codecs">,
    replica: Pick<Database, "read">,
    now: () => number = () => performance.now(),
  ) {
    this.#sql = replicaStatements(names);
    this.#owner = owner;
    this.#primary = primary;
    this.#replica = replica;
    this.#now = now;
    this.codecs = primary.codecs;
  }

  /** Rejects with `store_failed`; the next reads are then those of the database itself. */
  async read(...[sql, values]: Parameters<Queries["query"]>): ReturnType<Queries["query"]> {
    try {
      return await this.#replica.read(sql, values);
    } catch (error) {
      this.#restsUntil = this.#now() + restMs;
      throw error;
    }
  }

  /**
   * How far it is behind what was committed before the call (ms): 0 if it has all of that, at once or after a short wait. Undefined if
   * nothing should be read from it now.
   */
  async behindMs(): Promise<number | undefined> {
    if (this.#now() < this.#restsUntil) return undefined;
    const [position] = await this.#primary.read(this.#sql.position);
    if (position === undefined) return undefined;
    const [lsn, at] = [text(position, positionAt.lsn), integer(position, positionAt.now)];
    const until = this.#now() + patienceMs;
    for (;;) {
      const behind = await this.#behind(lsn, at).catch(() => undefined);
      if (behind === undefined || behind === 0 || this.#now() >= until) return behind;
      await pause(lookEveryMs);
    }
  }

  async #behind(lsn: string, at: number): Promise<number | undefined> {
    const [row] = await this.read(this.#sql.state, [lsn, toStored(this.#owner)]);
    if (row === undefined || integer(row, stateAt.isKnown) === 0) return undefined;
    if (integer(row, stateAt.hasAll) === 1) return 0;
    const replayed = integerOrNull(row, stateAt.replayedAt);
    return replayed === null ? undefined : Math.max(1, at - replayed);
  }
}

const positionAt = columnsOf(["lsn", "now"]);

const stateAt = columnsOf(["hasAll", "isKnown", "replayedAt"]);

/** How far a replica is. */
export function replicaStatements({ owner }: Names) {
  return {
    position: `SELECT pg_current_wal_lsn()::text, (extract(epoch FROM clock_timestamp()) * 1000)::bigint`,
    /** Of a server that is no standby, nothing is known. */
    state: `SELECT CASE WHEN pg_last_wal_replay_lsn() >= $1::pg_lsn THEN 1 ELSE 0 END,
      CASE WHEN pg_is_in_recovery() AND EXISTS (SELECT FROM ${owner} WHERE id = $2) THEN 1 ELSE 0 END,
      (extract(epoch FROM pg_last_xact_replay_timestamp()) * 1000)::bigint`,
  };
}

type ReplicaStatements = ReturnType<typeof replicaStatements>;
