import type { CommandResult } from "../../task/command.ts";
import { isPassing } from "../../store/lost-store.ts";
import { HoldfastError } from "../../task/fault.ts";
import { toleratedOffsetMs, type StoreClock } from "../clock.ts";
import { nextTurn } from "../next-turn.ts";
import type { RuntimeSettings } from "../options.ts";
import type { Services } from "../services.ts";
import type { Secrets } from "../secrets.ts";
import type { PausedTools } from "./paused-tools.ts";
import type { Sweeper } from "./sweeper.ts";

/** How often an owner reports that it lives, and checks the others. */
const renewEveryMs = 1_000;

/** Tasks returned to the queue in one transaction. */
const reclaimPage = 5_000;

/** The services that it needs, so that others can hold a store too. */
export interface OwnershipServices extends Pick<Services, "store" | "onError" | "unreadable" | "events"> {
  readonly clock: StoreClock;
  readonly options: Pick<RuntimeSettings, "crashBackoffMs" | "maxCrashBackoffMs" | "maxCrashes">;
}

/** What all owners of a store share, and each looks at when it renews. */
interface SharedState {
  readonly paused?: PausedTools;
  readonly secrets?: Pick<Secrets, "refresh">;
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
  #renewing = false;
  #failing = false;
  /** Whether the machine's clock was too far from the store's at the last renewal. */
  #isOff = false;

  constructor(services: OwnershipServices, sweeper: Sweeper, onOthers: () => void, shared: SharedState = {}) {
    this.#services = services;
    this.#sweeper = sweeper;
    this.#onOthers = onOthers;
    this.#shared = shared;
  }

  /** False from when another process declared this one dead until it has rejoined. */
  get held(): boolean {
    return this.#held;
  }

  /** Resolves once all tasks left by earlier processes can be claimed. */
  async start(): Promise<void> {
    await this.#renew(true);
    if (!this.#stopped)
      this.#cancelTimer = this.#services.clock.every(renewEveryMs, () => void this.#renewInTime());
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer();
  }

  /** Reports a store that fails for long only once. */
  async #renewInTime(): Promise<void> {
    const isLost = !this.#held && this.#services.store.rejoin === undefined;
    if (this.#renewing || isLost) return;
    this.#renewing = true;
    try {
      await this.#renew();
      this.#failing = false;
    } catch (error) {
      if (!this.#stopped && !this.#failing) this.#services.onError(error);
      this.#failing = true;
    } finally {
      this.#renewing = false;
    }
  }

  async #renew(isStart = false): Promise<void> {
    const { store, clock } = this.#services;
    const askedAt = clock.elapsed();
    const { held, lost: why, gone, others, paused = [], secretsChanged, now } = await store.renew();
    this.#compareClocks(now, askedAt);
    this.#shared.paused?.set(paused);
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
