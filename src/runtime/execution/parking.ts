import { isLost } from "../../store/lost-store.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Services } from "../services.ts";
import type { Timers } from "../timers.ts";
import type { Attempt } from "./attempt.ts";

/** How long a waiting handler stays in memory, since it may hold much of it. */
const longestMs = 600_000;

/** The same for a tool with a limit, where another task may wait for its place. */
const longestAtLimitMs = 1_000;

export interface ParkingSetup {
  readonly services: Services;
  readonly timers: Timers;
  /** The run is about to be dropped from memory: it no longer holds its task. */
  readonly onDrop: (attempt: Attempt) => void;
  /** Receives tasks that were returned to the queue, or that others ended or took before that. */
  readonly onParked: (task: TaskRecord) => void;
}

/** The waiting handlers. Above a number, and after a while, they are dropped from memory; then only their rows remain. */
export class Parking {
  readonly #setup: ParkingSetup;
  /** Cancels the timer of each, longest at rest first. */
  readonly #resting = new Map<Attempt, () => void>();
  readonly #writes = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(setup: ParkingSetup) {
    this.#setup = setup;
  }

  get waiting(): Iterable<Attempt> {
    return this.#resting.keys();
  }

  /** The handler rests. */
  rests(attempt: Attempt): void {
    if (this.#closing.signal.aborted) return;
    const { services, timers } = this.#setup;
    const { isAtLimit } = attempt;
    const before = isAtLimit ? this.#resting.get(attempt) : undefined; // others wait for it no longer than since it first rested
    if (before === undefined) this.forget(attempt);
    else this.#resting.delete(attempt); // else it would keep its place
    const longest = isAtLimit ? longestAtLimitMs : longestMs;
    this.#resting.set(attempt, before ?? timers.after(longest, () => this.#drop(attempt)));
    if (this.#resting.size > services.options.maxParkedFrames) this.#dropFirst();
  }

  /** It has to continue, or has ended. */
  forget(attempt: Attempt): void {
    this.#resting.get(attempt)?.();
    this.#resting.delete(attempt);
  }

  /** The clock was set back: those that rest now stay in memory until they continue, since their rows say times of before. */
  keep(): void {
    for (const attempt of this.#resting.keys()) this.forget(attempt);
  }

  /** Parks no more. Resolves when writes in progress have ended, or when `deadline` has. */
  async stop(deadline: Promise<void>): Promise<void> {
    this.keep();
    this.#closing.abort(); // what a store that fails has not taken, the next start parks
    await Promise.race([Promise.all(this.#writes), deadline]);
  }

  #dropFirst(): void {
    const [first] = this.#resting.keys();
    if (first !== undefined) this.#drop(first);
  }

  #drop(attempt: Attempt): void {
    this.forget(attempt);
    if (!attempt.run.canPark) return; // it is about to work, and comes back when it rests again
    if (this.#setup.services.registry.handlerOf(attempt.held.record) === undefined) return; // its tool was removed: dropped, it could not come back
    this.#setup.onDrop(attempt);
    const write = this.#park(attempt).finally(() => this.#writes.delete(write));
    this.#writes.add(write);
  }

  async #park({ run }: Attempt): Promise<void> {
    const { signal } = this.#closing;
    try {
      const task = await run.park(signal);
      if (task !== undefined) this.#setup.onParked(task);
    } catch (error) {
      // A lost store is reported once, not for each of them.
      if (!signal.aborted && !isLost(error)) this.#setup.services.onError(error);
    }
  }
}
