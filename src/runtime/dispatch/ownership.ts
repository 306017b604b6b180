import type { CommandResult } from "../../task/command.ts";
import { isPassing } from "../../store/lost-store.ts";
import type { HeldToken, OwnerLease } from "../../store/store.ts";
import { HoldfastError } from "../../task/fault.ts";
import { toleratedOffsetMs, type StoreClock } from "../clock.ts";
import { nextTurn } from "../wait-for.ts";
import type { RuntimeSettings } from "../options.ts";
import type { Services } from "../services.ts";
import type { Secrets } from "../secrets.ts";
import type { Attempts } from "../execution/attempts.ts";
import type { Drain } from "./drain.ts";
import type { PausedTools } from "./newer-tasks.ts";
import type { Sweeper } from "./sweeper.ts";

/** How often an owner reports that it lives, and checks the others; where it has a short lease, four times in that. */
const renewEveryMs = 1_000;

/** How often in a lease the tasks that the store has under this owner are compared with those that run here. */
const comparisons = 3;

/** Tasks compared in one read. */
const comparedPage = 1_000;

/** Tasks returned to the queue in one transaction. */
const reclaimPage = 5_000;

/** The services that it needs, so that others can hold a store too. */
export interface OwnershipServices extends Pick<
  Services,
  "store" | "lease" | "onError" | "unreadable" | "events"
> {
  readonly clock: StoreClock;
  readonly options: Pick<RuntimeSettings, "crashBackoffMs" | "maxCrashBackoffMs" | "maxCrashes">;
}

/** What all owners of a store share, and each looks at when it renews. */
interface SharedState {
  readonly paused?: PausedTools;
  readonly drain?: Pick<Drain, "look">;
  readonly secrets?: Pick<Secrets, "refresh">;
  /** The attempts that run here. */
  readonly attempts?: Pick<Attempts, "tokens">;
}

/** Holds the store for this process, and takes over from processes that are gone. */
export class Ownership {
  readonly #services: OwnershipServices;
  readonly #sweeper: Sweeper;
  /** Called when others may have left work. */
  readonly #onOthers: () => void;
  readonly #shared: SharedState;
  /** Owners with unreadable tasks, which were reported. */
  readonly #reported = new Set<string>();
  #cancelTimer: () => void = () => undefined;
  #stopped = false;
  #held = true;
  #renewing: Promise<void> | undefined;
  #failing = false;
  /** When the tasks under this owner were last compared with those that run here, by the time elapsed. */
  #comparedAt = 0;
  /** Whether the machine's clock was too far from the store's at the last renewal. */
  #isOff = false;

  constructor(services: OwnershipServices, sweeper: Sweeper, onOthers: () => void, shared: SharedState = {}) {
    this.#services = services;
    this.#sweeper = sweeper;
    this.#onOthers = onOthers;
    this.#shared = shared;
    services.lease.renewBy(() => this.#renewOnce());
  }

  /** False from when another process declared this one dead until it has rejoined. */
  get held(): boolean {
    return this.#held;
  }

  /** Resolves once all tasks left by earlier processes can be claimed. */
  async start(): Promise<void> {
    await this.#renew(true);
    const { clock, store } = this.#services;
    this.#comparedAt = clock.elapsed();
    const everyMs = Math.min(renewEveryMs, (store.lease?.ms ?? Infinity) / 4);
    if (!this.#stopped) this.#cancelTimer = clock.every(everyMs, () => void this.#renewInTime());
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer();
  }

  /** Reports a store that fails for long only once. */
  async #renewInTime(): Promise<void> {
    const isLost = !this.#held && this.#services.store.rejoin === undefined;
    if (this.#renewing !== undefined || isLost) return;
    try {
      await this.#renewOnce();
      await this.#compareInTime();
      this.#failing = false;
    } catch (error) {
      if (!this.#stopped && !this.#failing) this.#services.onError(error);
      this.#failing = true;
    }
  }

  #renewOnce(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  /** After a gap in the renewals, the store may have become an older one. */
  async #compareInTime(): Promise<void> {
    const { lease } = this.#services.store;
    const now = this.#services.clock.elapsed();
    if (lease === undefined || (!this.#failing && now - this.#comparedAt < lease.ms / comparisons)) return;
    await this.#compare(lease);
    this.#comparedAt = now;
  }

  /**
   * Takes care of tasks that the store has under this owner and that no attempt here holds: their end, or their loss, was undone by a failover.
   * An attempt that was known before the read may have ended meanwhile, and one that was not known may have begun.
   */
  async #compare(lease: OwnerLease): Promise<void> {
    const { lease: own } = this.#services;
    const { attempts } = this.#shared;
    if (attempts === undefined) return;
    for (let after: string | undefined = ""; after !== undefined && !this.#stopped;) {
      const before = new Set([...attempts.tokens(), ...own.tokens()]);
      const held = await lease.held(after, comparedPage);
      const known = new Set([...attempts.tokens(), ...own.tokens()]);
      const strays = held.filter(({ token }) => !before.has(token) && !known.has(token));
      await Promise.all(strays.map((stray) => this.#redo(stray)));
      if (strays.length > 0) this.#onOthers();
      after = held.length < comparedPage ? undefined : held.at(-1)?.id;
    }
  }

  /** The task ends as it had ended, if that is known here; otherwise others may run it, again if it could be resumed. */
  async #redo({ id, token }: HeldToken): Promise<void> {
    const { store, clock, lease } = this.#services;
    const { end, isResumable = false } = lease.recent.of(token) ?? {};
    if (end !== undefined && (await store.write(end)).ok) return;
    const held = { now: clock.now(), id, token };
    if (isResumable) await store.write({ type: "mark", ...held });
    await store.write({ type: "release", ...held });
  }

  async #renew(isStart = false): Promise<void> {
    const { store, clock } = this.#services;
    const askedAt = clock.elapsed();
    const {
      held,
      lost: why,
      gone,
      others,
      paused = [],
      drainUntil,
      secretsChanged,
      now,
    } = await store.renew();
    this.#compareClocks(now, askedAt);
    this.#shared.paused?.set(paused);
    this.#shared.drain?.look(drainUntil);
    await this.#shared.secrets?.refresh(secretsChanged === true);
    // A rejoin that failed may have been completed in the store, but nobody here was notified of a gap.
    if (!held || !this.#held) return this.#lost(why);
    const lost = gone.filter((owner) => !this.#reported.has(owner));
    try {
      for (const owner of lost) await this.#reclaim(owner);
    } catch (error) {
      // A store that cannot be written now, such as on a full disk, still serves reads. A later renewal reclaims.
      if (!isStart || !isPassing(error)) throw error;
      this.#services.onError(error);
      this.#failing = true;
    }
    if (lost.length === 0 && others === 0) return;
    if (lost.length > 0) this.#sweeper.consider(clock.now()); // what they left may have been due for long
    // Others notify us of what they queue and schedule, but notifications can be lost.
    this.#onOthers();
    this.#sweeper.consider(await store.nextSweepAt(clock.now() - 2 * renewEveryMs));
  }

  #compareClocks(now: number | undefined, askedAt: number): void {
    const { clock, events } = this.#services;
    clock.look(now, askedAt);
    const { offsetMs } = clock;
    const isOff = Math.abs(offsetMs) > toleratedOffsetMs;
    if (isOff !== this.#isOff) events?.emit({ type: isOff ? "clock.off" : "clock.right", offsetMs });
    this.#isOff = isOff;
  }

  /** Tasks taken from this process stay with others. If the store allows it, the process continues with the rest. */
  async #lost(why?: HoldfastError): Promise<void> {
    const { store, onError, events } = this.#services;
    const wasHeld = this.#held;
    this.#held = false;
    const canRejoin = store.rejoin !== undefined;
    const then = canRejoin
      ? "It continues with the tasks that were not taken over."
      : "Restart it: other processes now run its tasks.";
    if (wasHeld) events?.emit({ type: "store.lost" });
    if (wasHeld)
      onError(
        why ??
          new HoldfastError(
            "store_lost",
            `Another process considered this one dead and took over its tasks. ${then}`,
          ),
      );
    if (!canRejoin) {
      void this.#sweeper.stop(); // it could only fail, over and over
      return;
    }
    await store.rejoin?.();
    this.#held = true;
    events?.emit({ type: "store.regained" });
  }

  async #reclaim(owner: string): Promise<void> {
    const { store, clock, options, unreadable } = this.#services;
    const { crashBackoffMs: baseMs, maxCrashBackoffMs: maxMs, maxCrashes } = options;
    const backoff = { baseMs, maxMs, maxCrashes };
    for (let after: string | null = ""; after !== null && !this.#stopped;) {
      const result: CommandResult<"reclaim"> = await store.write({
        type: "reclaim",
        now: clock.now(),
        owner,
        after,
        limit: reclaimPage,
        backoff,
      });
      if (!result.ok) return; // it lives after all
      // They stay as they are until an operator repairs them; other tasks are not affected.
      for (const { id, problem } of result.unreadable) {
        unreadable.report(id, new HoldfastError("task_unreadable", problem));
        this.#reported.add(owner);
      }
      after = result.next;
      await nextTurn();
    }
  }
}
