import type { KeyedTask, TaskStore, WireName } from "../store/store.ts";
import type { TaskSnapshot } from "../task/snapshot.ts";
import { HoldfastError, isUnreadable, unknownTask } from "../task/fault.ts";
import type { InputAnswer } from "../task/input.ts";
import type { Outcome } from "../task/outcome.ts";
import type { Origin, TaskRecord } from "../task/record.ts";
import { Attempts } from "./attempt/attempts.ts";
import { LeakedHandlers } from "./attempt/leaked-handlers.ts";
import { Cancellation } from "./dispatch/cancellation.ts";
import { systemClock, type Clock } from "./clock.ts";
import { Creation } from "./dispatch/creation.ts";
import { Deadline } from "./deadline.ts";
import { errorReporter } from "./error-reporter.ts";
import { Dispatcher } from "./dispatch/dispatcher.ts";
import type { RuntimeOptions } from "./options.ts";
import { resolveOptions } from "./resolve-options.ts";
import { judgeAnswers } from "./attempt/judge-answers.ts";
import { ownRecord, ownScopes } from "./own-record.ts";
import { openQuestions } from "./attempt/open-questions.ts";
import { Recovery } from "./dispatch/recovery.ts";
import type { Registry } from "./tool/registry.ts";
import { runInline, type InlineRun } from "./attempt/run-inline.ts";
import type { CallEnd, ListPage, Requestor, Runtime, TaskCall } from "./runtime.ts";
import type { Services } from "./services.ts";
import { listVisible } from "./list-visible.ts";
import { Secrets } from "./secrets.ts";
import { storeAnswers } from "./store-answers.ts";
import { Slots } from "./dispatch/slots.ts";
import { stopping } from "./stopping.ts";
import { Sweeper } from "./dispatch/sweeper.ts";
import { Timers } from "./timers.ts";
import { UnreadableTasks } from "./unreadable-tasks.ts";
import { Watchers, type Watcher } from "./watchers.ts";

export interface RuntimeSetup {
  readonly store: TaskStore;
  readonly registry: Registry;
  readonly options?: Partial<RuntimeOptions>;
  readonly clock?: Clock;
  /** Hears of faults that no caller is there for; a line on stderr by default. */
  readonly onError?: (error: unknown) => void;
}

/** A runtime on one store; `start` opens it. */
export function createRuntime(setup: RuntimeSetup): Runtime {
  const onError = errorReporter(setup.onError);
  return new LocalRuntime({
    store: setup.store,
    registry: setup.registry,
    options: resolveOptions(setup.options ?? {}),
    clock: setup.clock ?? systemClock,
    onError,
    unreadable: new UnreadableTasks(onError),
  });
}

/** Wires the parts and answers the neutral commands. */
class LocalRuntime implements Runtime {
  readonly registry: Registry;
  readonly options: RuntimeOptions;
  readonly clock: Clock;
  readonly #secrets: Secrets;
  readonly #services: Services;
  readonly #slots: Slots;
  readonly #timers: Timers;
  readonly #leaked: LeakedHandlers;
  readonly #attempts: Attempts;
  readonly #dispatcher: Dispatcher;
  readonly #cancellation: Cancellation;
  readonly #sweeper: Sweeper;
  readonly #recovery: Recovery;
  readonly #creation: Creation;
  readonly #watchers = new Watchers();
  #unsubscribe: () => void = () => undefined;
  #started: Promise<void> | undefined;
  #open = false;
  #stopped: Promise<void> | undefined;
  /** Whether a stop came to its end before the start. */
  #late = false;

  constructor(services: Services) {
    this.registry = services.registry;
    this.options = services.options;
    this.clock = services.clock;
    this.#secrets = new Secrets(services);
    this.#services = services;
    this.#slots = new Slots(services.options.concurrency);
    this.#timers = new Timers(services.clock);
    this.#sweeper = new Sweeper(services);
    this.#leaked = new LeakedHandlers(services);
    this.#attempts = new Attempts({
      services,
      leaked: this.#leaked,
      slots: this.#slots,
      timers: this.#timers,
      onSweepAt: (at) => this.#sweeper.consider(at),
    });
    this.#dispatcher = new Dispatcher(services, this.#slots, this.#attempts, this.#leaked);
    this.#creation = new Creation({
      services,
      slots: this.#slots,
      timers: this.#timers,
      sweeper: this.#sweeper,
      attempts: this.#attempts,
      dispatcher: this.#dispatcher,
    });
    this.#cancellation = new Cancellation(services);
    this.#recovery = new Recovery(services, this.#dispatcher);
  }

  start(): Promise<void> {
    if (this.#stopped !== undefined) return Promise.reject(stopping());
    this.#started ??= this.#start();
    return this.#started;
  }

  drain(): void {
    this.#open = false;
    this.#dispatcher.pause();
    this.#attempts.drain();
  }

  stop(withinMs = this.options.stopDeadlineMs): Promise<void> {
    this.#stopped ??= this.#stop(withinMs);
    return this.#stopped;
  }

  async ready(withinMs: number): Promise<boolean> {
    const { store, clock } = this.#services;
    return this.#open && this.#stopped === undefined && (await storeAnswers(store, clock, withinMs));
  }

  async create(call: TaskCall): Promise<TaskSnapshot> {
    await this.#running();
    return this.#creation.create(call);
  }

  async call(call: TaskCall, signal: AbortSignal): Promise<CallEnd> {
    await this.#running();
    return this.#creation.call(call, signal);
  }

  async runInline(run: InlineRun): Promise<Outcome> {
    await this.#running();
    return runInline(run, this.#services.clock, this.#timers, this.options.maxBodyBytes);
  }

  async get(id: string, requestor: Requestor): Promise<TaskSnapshot> {
    await this.#record(id, requestor);
    const snapshot = await this.#services.store.snapshot(id);
    if (snapshot === undefined) throw unknownTask();
    return snapshot;
  }

  async list(requestor: Requestor, page: ListPage): Promise<readonly TaskRecord[]> {
    await this.#running();
    const visible = await listVisible(this.#services, requestor, page);
    return Promise.all(visible.map((task) => this.#sweeper.ended(task)));
  }

  async scopesOf(id: string, principal: string | null): Promise<readonly string[] | undefined> {
    await this.#running();
    return ownScopes(this.#services, id, principal);
  }

  async withKeys(principal: string | null, prefix: string, limit: number): Promise<readonly KeyedTask[]> {
    await this.#running();
    return this.#services.store.withKeys(principal, prefix, limit);
  }

  async find(wire: WireName): Promise<string | undefined> {
    await this.#running();
    return this.#services.store.find(wire);
  }

  async delivered(id: string, requestor: Requestor): Promise<void> {
    const task = await this.#record(id, requestor);
    if (task.finishedAt === null || task.idempotencyKey === null) return;
    await this.#services.store.write({ type: "release_key", now: this.clock.now(), id });
  }

  watch(ids: readonly string[], watcher: Watcher): () => void {
    return this.#watchers.watch(ids, watcher);
  }

  async answer(id: string, requestor: Requestor, answers: readonly InputAnswer[]): Promise<void> {
    const task = await this.#record(id, requestor);
    const { store, clock } = this.#services;
    const questions = await openQuestions(store, task, answers).catch((error: unknown) => {
      // No answer can reach such a question any more: its handler is told by a look at all of its questions.
      if (isUnreadable(error)) this.#attempts.onChanges([{ id, event: "answer_inputs" }]);
      throw error;
    });
    const judged = judgeAnswers(questions, answers, this.options.maxBodyBytes);
    if (judged.length === 0) return;
    // A question that was closed since the answers were judged ignores its own.
    await store.write({ type: "answer_inputs", now: clock.now(), id, answers: judged });
  }

  async secret(name: string): Promise<Uint8Array> {
    await this.#running();
    return this.#secrets.get(name);
  }

  async cancel(id: string, requestor: Requestor): Promise<void> {
    await this.#record(id, requestor);
    await this.#cancellation.request(id);
  }

  async cancelNow(id: string, requestor: Requestor): Promise<TaskSnapshot> {
    await this.#record(id, requestor);
    const result = await this.#cancellation.now(id);
    if (result.ok) return { task: result.task, inputs: [], outcome: null };
    if (result.reason === "unknown") throw unknownTask();
    throw new HoldfastError("finished", "The task has already ended and cannot be cancelled");
  }

  async delete(id: string, requestor: Requestor): Promise<void> {
    await this.#record(id, requestor);
    const result = await this.#services.store.write<"delete">({ type: "delete", now: this.clock.now(), id });
    if (result.ok) return;
    if (result.reason === "unknown") throw unknownTask();
    throw new HoldfastError("unfinished", "The task has not ended: cancel it first, then delete it");
  }

  async originOf(id: string, requestor: Requestor): Promise<Origin> {
    await this.#record(id, requestor);
    const request = await this.#services.store.request(id);
    if (request === undefined) throw unknownTask();
    return request.origin;
  }

  async #start(): Promise<void> {
    const { store, registry } = this.#services;
    registry.seal();
    try {
      await store.open();
    } catch (error) {
      this.#started = undefined; // what is in the way may go away: another start may succeed
      throw error;
    }
    try {
      this.#unsubscribe = store.subscribe((changes) => {
        this.#attempts.onChanges(changes);
        this.#dispatcher.onChanges(changes);
        this.#watchers.onChanges(changes);
      });
      if (this.#late) throw stopping();
      await this.#recovery.run();
      if (this.#late) throw stopping();
      void this.#sweeper.start();
      this.#open = true;
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  async #stop(withinMs: number): Promise<void> {
    this.#open = false;
    if (this.#started === undefined) return;
    this.#recovery.stop();
    const deadline = new Deadline(this.clock, withinMs);
    try {
      if (!(await deadline.bound(this.#started))) {
        this.#late = true; // a start that goes on then closes what it has opened, as one that failed has done
        return;
      }
      await this.#creation.stop(deadline);
      this.#attempts.stopLoading();
      await deadline.bound(this.#dispatcher.close());
      await this.#attempts.stop(deadline.passed);
    } finally {
      deadline.callOff();
    }
    await this.#close();
  }

  async #close(): Promise<void> {
    this.#recovery.stop();
    this.#cancellation.stop();
    this.#timers.close();
    await this.#sweeper.stop();
    this.#unsubscribe();
    await this.#services.store.close();
  }

  async #record(id: string, requestor: Requestor): Promise<TaskRecord> {
    await this.#running();
    return ownRecord(this.#services, this.#sweeper, id, requestor);
  }

  /** Resolves while calls can be taken; waits for a start that is under way. */
  async #running(): Promise<void> {
    if (this.#stopped !== undefined) throw stopping();
    if (this.#started === undefined) throw new HoldfastError("configuration", "Call start() first.");
    await this.#started;
    if (this.#stopped !== undefined) throw stopping();
  }
}
