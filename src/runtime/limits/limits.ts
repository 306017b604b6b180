/**
 * Limits by name: who may run now, over all processes on the store.
 * - Nothing is asked of the store for a step that names no limit.
 * - Whoever waits has no slot, and its record says so. Its place in line outlives its process.
 * - A permit is kept while its step runs, and no longer: it goes with the token of the attempt.
 */

import { HoldfastError } from "../../task/fault.ts";
import { encodeJournalKey } from "../../task/journal.ts";
import { turnOfPrincipal } from "../../store/limits.ts";
import type { StoreChanges, TaskStore } from "../../store/store.ts";
import type { StoreClock } from "../clock.ts";
import { waitFor } from "../wait-for.ts";
import { LimitLine } from "./limit-line.ts";
import type { LimitName } from "./limit-name.ts";
import { assertLimits, type LimitOptions } from "./limit-options.ts";

/** A waiting task that is dropped from memory asks again after this long at the latest, and no earlier than half of it. */
const parkedMs = 120_000;

/** How many lines are kept that nobody uses: there may be one for each key. */
const mostIdle = 1_000;

export interface LimitsSetup {
  readonly store: Pick<TaskStore, "limits">;
  readonly clock: StoreClock;
  readonly onError: (error: unknown) => void;
  readonly limits: Readonly<Record<string, LimitOptions>>;
}

/** A run of a handler, as far as it waits. */
interface WaitingRun {
  readonly setup: { readonly taskId: string };
  readonly token: string;
  readonly signal: AbortSignal;
  readonly life: { holdTimer(cancelTimer: () => void, reject: (reason: Error) => void): () => void };
  beginPause(): Promise<void>;
  whileWaiting(
    reason: "limit",
    begin: (postpone: (until: number) => void) => Promise<void>,
    until: number,
  ): Promise<void>;
}

/** What has a permit, until it gives it back; with a time in ms, nobody starts for so long. `keep`: the same step asks again, and takes it over. */
export type GiveBack = (pauseMs?: number | "keep") => void;

/** The limits for one run. */
export interface RunLimits {
  /** Waits for a permit for the step `entry`; what `livesOn` without its attempt keeps it. Rejects with the reason of the run's signal. */
  take(entry: string, limit: LimitName, livesOn: boolean): Promise<GiveBack>;
}

export class Limits {
  readonly #setup: LimitsSetup;
  readonly #lines = new Map<string, LimitLine>();
  readonly #stopped = new AbortController();
  /** How many permits of each name the runs of this process have. */
  readonly #inUse: Map<string, number>;

  /** Throws `configuration` for wrong ones, and where the store counts none. */
  constructor(setup: LimitsSetup) {
    this.#setup = setup;
    assertLimits(setup.limits);
    this.#inUse = new Map(Object.keys(setup.limits).map((name) => [name, 0]));
    if (Object.keys(setup.limits).length === 0 || setup.store.limits !== undefined) return;
    throw new HoldfastError(
      "configuration",
      "The store of this server counts no limits. Remove limits, or use sqliteStore, postgresStore or memoryStore.",
    );
  }

  /** Throws `configuration` for a limit that is not declared. */
  assertDeclared(limit: LimitName, by: string): void {
    const name = nameOf(limit);
    if (Object.hasOwn(this.#setup.limits, name)) return;
    const declared = Object.keys(this.#setup.limits);
    const others = declared.length === 0 ? "It declares none" : `It declares ${declared.join(", ")}`;
    throw new HoldfastError(
      "configuration",
      `${by} names the limit "${name}", which createTasks does not declare. ${others}. Add it: limits: { ${JSON.stringify(name)}: { concurrency: 4, perMinute: 60 } }.`,
    );
  }

  /** Those for a run of a task of this principal. */
  of(run: WaitingRun, principal: string | null): RunLimits {
    const turnOf = turnOfPrincipal(principal);
    return {
      take: async (entry, limit, livesOn) => {
        this.assertDeclared(limit, entry === "" ? "The tool" : `Step "${entry}"`);
        const holder = { taskId: run.setup.taskId, entry, token: run.token };
        await this.#wait(run, this.#lineOf(limit), { ...holder, turnOf, ...(livesOn && { livesOn }) });
        this.#count(limit, 1);
        return (pauseMs) => {
          this.#count(limit, -1);
          if (pauseMs !== "keep") this.#lineOf(limit).leave(holder, pauseMs ?? null);
        };
      },
    };
  }

  /** How many permits of each limit by name the runs of this process have, whatever their keys. */
  get inUse(): ReadonlyMap<string, number> {
    return this.#inUse;
  }

  #count(limit: LimitName, by: 1 | -1): void {
    this.#inUse.set(nameOf(limit), (this.#inUse.get(nameOf(limit)) ?? 0) + by);
  }

  /** Others may have given permits to tasks of this process. */
  onChanges(changes: StoreChanges): void {
    if (this.#lines.size === 0) return;
    const ids = changes === "gap" ? undefined : new Set(changes.map(({ id }) => id));
    for (const line of this.#lines.values()) if (ids === undefined || line.concerns(ids)) line.look();
  }

  /** From now on nothing is asked of the store. */
  stop(): void {
    this.#stopped.abort();
    this.#lines.clear();
  }

  async #wait(run: WaitingRun, line: LimitLine, join: Parameters<LimitLine["wait"]>[0]): Promise<void> {
    const { clock } = this.#setup;
    const permit = Promise.withResolvers<void>();
    const first = Promise.withResolvers<boolean>();
    permit.promise.then(() => first.resolve(true), first.reject);
    const told = { granted: permit.resolve, waits: () => first.resolve(false), failed: permit.reject };
    const cancel = run.life.holdTimer(line.wait(join, told), permit.reject);
    try {
      // Most have a permit at once, and keep their slots meanwhile.
      if (await first.promise) return;
      await run.beginPause();
      const asks = (): number => clock.now() + parkedMs;
      const waited = async (postpone: (until: number) => void): Promise<void> => {
        const stop = run.life.holdTimer(
          clock.every(parkedMs / 2, () => postpone(asks())),
          permit.reject,
        );
        try {
          await waitFor((wake) => {
            permit.promise.then(wake, wake);
            return () => undefined;
          }, run.signal);
        } finally {
          stop();
        }
        await permit.promise;
      };
      await run.whileWaiting("limit", waited, asks());
    } catch (error) {
      line.leave(join);
      throw error;
    } finally {
      cancel();
    }
  }

  #lineOf(limit: LimitName): LimitLine {
    const { store, clock, onError, limits } = this.#setup;
    const name = encodeJournalKey(typeof limit === "string" || limit.length > 1 ? limit : limit[0]);
    const known = this.#lines.get(name);
    if (known !== undefined) return known;
    const { concurrency = null, perMinute = null } = limits[nameOf(limit)] ?? {};
    if (store.limits === undefined) throw new HoldfastError("internal", "The store counts no limits.");
    if (this.#lines.size >= mostIdle)
      for (const [old, line] of this.#lines) if (line.isIdle) this.#lines.delete(old);
    const stopped = this.#stopped.signal;
    const line = new LimitLine({
      name,
      concurrency,
      perMinute,
      store: store.limits,
      clock,
      onError,
      stopped,
    });
    this.#lines.set(name, line);
    return line;
  }
}

/** For a replay, which runs no step. */
export const noWaits: Pick<Limits, "of" | "onChanges" | "stop" | "inUse"> = {
  inUse: new Map(),
  of: () => ({ take: async () => () => undefined }),
  onChanges: () => undefined,
  stop: () => undefined,
};

function nameOf(limit: LimitName): string {
  return typeof limit === "string" ? limit : limit[0];
}
