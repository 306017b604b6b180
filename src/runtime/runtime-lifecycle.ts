import { HoldfastError } from "../task/fault.ts";
import { Deadline } from "./deadline.ts";
import type { Parts } from "./parts.ts";
import type { Services } from "./services.ts";
import { stopping } from "./stopping.ts";
import { storeAnswers } from "./store-answers.ts";

/** The life of a runtime: its start, which takes over the store, and its stop, which keeps to a deadline. */
export class RuntimeLifecycle {
  readonly #services: Services;
  readonly #parts: Parts;
  #unsubscribe: () => void = () => undefined;
  #started: Promise<void> | undefined;
  #open = false;
  #drained = false;
  #stopped: Promise<void> | undefined;
  /** Whether a stop came to its end before the start. */
  #late = false;

  constructor(services: Services, parts: Parts) {
    this.#services = services;
    this.#parts = parts;
  }

  start(): Promise<void> {
    if (this.#stopped !== undefined) return Promise.reject(stopping());
    this.#started ??= this.#start();
    return this.#started;
  }

  drain(): void {
    this.#drained = true; // a start may be under way
    this.#parts.dispatcher.pause();
    this.#parts.attempts.drain();
  }

  stop(withinMs: number): Promise<void> {
    this.#stopped ??= this.#stop(withinMs);
    return this.#stopped;
  }

  async ready(withinMs: number): Promise<boolean> {
    const { store, clock } = this.#services;
    const isOpen = this.#open && !this.#drained && this.#stopped === undefined;
    return isOpen && (await storeAnswers(store, clock, withinMs));
  }

  /** Resolves while calls can be taken; waits for a start that is under way. */
  async running(): Promise<void> {
    if (this.#stopped !== undefined) throw stopping();
    if (this.#started === undefined) throw new HoldfastError("configuration", "Call start() first.");
    await this.#started;
    if (this.#stopped !== undefined) throw stopping();
  }

  async #start(): Promise<void> {
    const { store, registry } = this.#services;
    const { changed, watchers, recovery, sweeper } = this.#parts;
    registry.seal();
    try {
      await store.open();
    } catch (error) {
      this.#started = undefined; // what is in the way may go away: another start may succeed
      throw error;
    }
    try {
      this.#unsubscribe = store.subscribe((changes) => {
        changed.onChanges(changes);
        watchers.onChanges(changes);
      });
      if (this.#late) throw stopping();
      await recovery.run();
      if (this.#late) throw stopping();
      void sweeper.start();
      this.#open = true;
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  async #stop(withinMs: number): Promise<void> {
    this.#open = false;
    if (this.#started === undefined) return;
    const { recovery, creation, attempts, dispatcher } = this.#parts;
    recovery.stop();
    const deadline = new Deadline(this.#services.clock, withinMs);
    try {
      if (!(await deadline.bound(this.#started))) {
        this.#late = true; // a start that goes on then closes what it has opened, as one that failed has done
        return;
      }
      await creation.stop(deadline);
      attempts.stopLoading();
      await deadline.bound(dispatcher.close());
      await attempts.stop(deadline.passed);
    } finally {
      deadline.callOff();
    }
    await this.#close();
  }

  async #close(): Promise<void> {
    const { recovery, changed, cancellation, timers, sweeper } = this.#parts;
    recovery.stop();
    changed.stop();
    cancellation.stop();
    timers.close();
    await sweeper.stop();
    this.#unsubscribe();
    await this.#services.store.close();
  }
}
