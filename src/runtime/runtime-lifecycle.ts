import { HoldfastError } from "../task/fault.ts";
import { shortName } from "../task/record-changes.ts";
import { stopping } from "../task/unanswered.ts";
import { type Clock, Deadline } from "./clock.ts";
import type { Parts } from "./parts.ts";
import type { Services } from "./services.ts";
import { observeRuntime } from "./telemetry/observe-runtime.ts";
import type { BesideTasks } from "./runtime.ts";

/** The life of a runtime: its start, which takes over the store, and its stop, which has a deadline. */
export class RuntimeLifecycle {
  readonly #services: Services;
  readonly #parts: Parts;
  #unsubscribe: () => void = () => undefined;
  #unobserve: () => void = () => undefined;
  #started: Promise<void> | undefined;
  readonly #beside: BesideTasks[] = [];
  #open = false;
  #stopped: Promise<void> | undefined;
  /** Whether a stop ended before the start. */
  #late = false;

  constructor(services: Services, parts: Parts) {
    this.#services = services;
    this.#parts = parts;
    const { store, events, telemetry } = services;
    if (telemetry !== undefined) store.onCommit?.((commands) => telemetry.metrics.committed(commands));
    if (events === undefined) return;
    store.onListening?.((isListening) =>
      events.emit({ type: isListening ? "listener.regained" : "listener.lost" }),
    );
  }

  beside(work: BesideTasks): void {
    this.#beside.push(work);
  }

  start(): Promise<void> {
    if (this.#stopped !== undefined) return Promise.reject(stopping());
    this.#started ??= this.#start();
    return this.#started;
  }

  drain(): void {
    this.#parts.drain.stop();
  }

  stop(withinMs: number): Promise<void> {
    this.#stopped ??= this.#stop(withinMs);
    return this.#stopped;
  }

  async ready(withinMs: number): Promise<boolean> {
    const { store, clock } = this.#services;
    const isOpen =
      this.#open && this.#parts.ownership.held && !this.#parts.drain.isOn && this.#stopped === undefined;
    if (!isOpen) return false;
    return inTime(
      () => Promise.all([store.nextSweepAt(clock.now()), this.#assertTakesWrites()]),
      clock,
      withinMs,
    );
  }

  #assertTakesWrites(): Promise<void> {
    const { store, clock, commits } = this.#services;
    return commits.assertTaken(
      () =>
        this.#parts.reporter.report() ?? store.write({ type: "delete_expired", now: clock.now(), limit: 1 }),
    );
  }

  /** Resolves once calls can be accepted; waits for a start in progress. */
  async running(): Promise<void> {
    if (this.#stopped !== undefined) throw stopping();
    if (this.#started === undefined) throw new HoldfastError("configuration", "Call start() first.");
    await this.#started;
    if (this.#stopped !== undefined) throw stopping();
  }

  async #start(): Promise<void> {
    const { store, registry, clock, options } = this.#services;
    const {
      changed,
      dispatcher,
      drain,
      watchers,
      ownership,
      orphans,
      blocked,
      sweeper,
      handlerChanges,
      webhooks,
      secrets,
    } = this.#parts;
    const handlers = registry.handlers();
    try {
      await store.open({ id: shortName(clock), handlers });
    } catch (error) {
      this.#started = undefined; // what is in the way may go away: another start may succeed
      throw error;
    }
    try {
      this.#unsubscribe = store.subscribe((changes, by) => {
        changed.onChanges(changes);
        watchers.onChanges(changes);
        if (by === "others") this.#services.limits.onChanges(changes);
        webhooks.changed();
        if (by === "others" && (changes === "gap" || store.onWork === undefined)) dispatcher.wake();
        else dispatcher.changed();
        if (changes !== "gap" && changes.some(({ isRelative }) => isRelative)) this.#lookAround();
        if (changes === "gap") orphans.onOthers();
      });
      if (this.#late) throw stopping();
      // Before the first handler runs.
      await this.#services.eventUrls.load(() => secrets.get("event-urls"));
      await this.#services.blobs?.open(store);
      await ownership.start();
      await orphans.start();
      if (this.#late) throw stopping();
      const works = options.roles.includes("work") && !drain.isOn;
      drain.start();
      dispatcher.wake();
      if (works) void blocked.retry();
      void sweeper.start();
      handlerChanges.start(handlers);
      this.#unobserve = observeRuntime(this.#services, this.#parts);
      this.#parts.reporter.start();
      this.#parts.blobSweep.start();
      if (works) this.#services.processes.start();
      for (const work of this.#beside) work.start();
      this.#open = true;
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  /** A change of one task has changed others: some can be claimed now, and some must end within the grace period of a cancel. */
  #lookAround(): void {
    const { dispatcher, sweeper } = this.#parts;
    const { clock, options } = this.#services;
    dispatcher.wake();
    sweeper.consider(clock.now() + options.cancelGraceMs);
  }

  async #stop(withinMs: number): Promise<void> {
    const isStarting = !this.#open;
    this.#open = false;
    if (this.#started === undefined) return;
    const { ownership, orphans, creation, attempts, dispatcher, webhooks } = this.#parts;
    orphans.stop();
    this.#parts.blocked.stop();
    webhooks.drain();
    this.#parts.drain.end();
    if (isStarting) ownership.stop();
    const deadline = new Deadline(this.#services.clock, withinMs);
    try {
      if (!(await deadline.bound(this.#started))) {
        this.#late = true; // a start that goes on then closes what it has opened, as one that failed has done
        return;
      }
      attempts.drain(); // before anything is waited for, during which a handler would begin its next step
      await creation.stop(deadline);
      attempts.stopLoading();
      await deadline.bound(dispatcher.close());
      await attempts.stop(deadline.passed);
      // What the store begins to run for this process after the deadline is given back, or it would count as lost in a crash.
      await creation.settled();
      await dispatcher.close();
      await webhooks.stop(deadline.passed);
      await deadline.bound(Promise.all(this.#beside.map((work) => work.stop())));
      await deadline.bound(this.#parts.retrievals.settled());
      await deadline.bound(this.#parts.abandonments.settled());
      await deadline.bound(this.#parts.reporter.stop());
    } finally {
      deadline.cancelTimer();
    }
    await this.#close();
  }

  async #close(): Promise<void> {
    const { ownership, orphans, changed, cancellation, cancelled, timers, sweeper, handlerChanges } =
      this.#parts;
    this.#unobserve();
    this.#parts.reporter.close();
    await this.#parts.webhooks.stop(Promise.resolve()); // of a start that failed
    ownership.stop();
    orphans.stop();
    this.#parts.blocked.stop();
    handlerChanges.stop();
    this.#parts.blobSweep.stop();
    changed.stop();
    cancellation.stop();
    cancelled.stop();
    timers.close();
    this.#services.limits.stop();
    await sweeper.stop();
    this.#services.processes.stop();
    this.#parts.drain.end();
    await this.#services.threads.close();
    this.#unsubscribe();
    await this.#services.store.close();
  }
}

/** Whether `ask` resolves within that many milliseconds. */
export async function inTime(ask: () => Promise<unknown>, clock: Clock, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const cancelTimer = clock.after(ms, () => late.resolve(false));
  const answered = ask().then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([answered, late.promise]);
  } finally {
    cancelTimer();
  }
}
