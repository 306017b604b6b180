import { expiredError } from "../../task/expired-error.ts";
import { errorOutcome } from "../../task/outcome.ts";
import type { RuntimeOptions } from "../options.ts";
import type { Services } from "../services.ts";

const batch = 200;
/** Clocks jump and laptops sleep, so that no timer is armed for longer than this. */
const longestTimerMs = 60_000;
const pauseAfterErrorMs = 5_000;

/** The part of the services that it needs, so that others who keep tasks can sweep too. */
export interface SweeperServices extends Pick<Services, "store" | "clock" | "onError"> {
  readonly options: Pick<RuntimeOptions, "expiredVisibleMs">;
}

/** Ends tasks whose time is over and deletes finished ones after theirs, in batches. */
export class Sweeper {
  readonly #services: SweeperServices;
  #callOff: (() => void) | undefined;
  /** What the timer is armed for; while a sweep runs, the earliest time that came up meanwhile. */
  #armedFor = Number.POSITIVE_INFINITY;
  #sweeping: Promise<void> | undefined;
  #stopped = true;

  constructor(services: SweeperServices) {
    this.#services = services;
  }

  async start(): Promise<void> {
    this.#stopped = false;
    await this.#sweep();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#callOff?.();
    await this.#sweeping;
  }

  /** Tells the sweeper of a time at which it has work; null is none. */
  consider(at: number | null): void {
    if (at === null || at >= this.#armedFor) return;
    if (this.#sweeping === undefined) this.#arm(at);
    else this.#armedFor = at;
  }

  #arm(at: number): void {
    if (this.#stopped) return;
    this.#callOff?.();
    this.#armedFor = at;
    const ms = Math.min(Math.max(0, at - this.#services.clock.now()), longestTimerMs);
    this.#callOff = this.#services.clock.after(ms, () => {
      void this.#sweep();
    });
  }

  async #sweep(): Promise<void> {
    this.#armedFor = Number.POSITIVE_INFINITY;
    this.#sweeping = this.#sweepOnce();
    await this.#sweeping;
    this.#sweeping = undefined;
    this.#arm(Math.min(this.#armedFor, this.#services.clock.now() + longestTimerMs));
  }

  async #sweepOnce(): Promise<void> {
    const { store, clock, onError } = this.#services;
    try {
      const ended = await this.#expireDue();
      await this.#deleteDue();
      // What could not be ended is still due: at once again would be for ever again.
      this.consider(ended ? await store.nextSweepAt() : clock.now() + pauseAfterErrorMs);
    } catch (error) {
      onError(error);
      this.consider(clock.now() + pauseAfterErrorMs);
    }
  }

  /** False where one could not be ended. */
  async #expireDue(): Promise<boolean> {
    const { store, clock, options, onError } = this.#services;
    for (;;) {
      const now = clock.now();
      const due = await store.due(now, batch);
      const visibleUntil = now + options.expiredVisibleMs;
      const outcome = errorOutcome(expiredError);
      const ends = await Promise.allSettled(
        due.map((id) =>
          store.write({
            type: "expire",
            now,
            id,
            outcome,
            statusMessage: expiredError.message,
            visibleUntil,
          }),
        ),
      );
      // One that cannot be ended must not keep the others alive.
      const failed = ends.filter((end) => end.status === "rejected");
      for (const { reason } of failed) onError(reason);
      if (failed.length > 0) return false;
      if (due.length < batch || this.#stopped) return true;
    }
  }

  async #deleteDue(): Promise<void> {
    const { store, clock } = this.#services;
    for (;;) {
      const { deleted } = await store.write({ type: "delete_expired", now: clock.now(), limit: batch });
      if (deleted.length < batch || this.#stopped) return;
    }
  }
}
