import type { SessionStore } from "../store/session-store.ts";
import type { Blobs } from "../store/blobs.ts";
import type { KeyedTask, TaskStore, WireName, ReserveMemory } from "../store/store.ts";
import type { TaskSnapshot, Origin, TaskRecord } from "../task/record.ts";
import type { CommandResult } from "../task/command.ts";
import { HoldfastError, unknownTask } from "../task/fault.ts";
import type { InputAnswer } from "../task/journal.ts";
import { errorResult, type Outcome } from "../task/outcome.ts";
import type { Artifact } from "../task/artifact.ts";
import type { TaskLine } from "../task/task-line.ts";
import { artifactsOf, readRange, type ArtifactPart, type ArtifactRange } from "./artifacts.ts";
import { ArtifactBlobs } from "./blobs/artifact-blobs.ts";
import { shownTask } from "../task/expiry.ts";
import { StoreClock, systemClock, type Clock } from "./clock.ts";
import { Commits, observedStore, UnreadableTasks } from "./observed-store.ts";
import { Lease } from "./dispatch/lease.ts";
import { errorReporter } from "./error-reporter.ts";
import { StartedProcesses } from "./exec/started-processes.ts";
import { Limits } from "./limits/limits.ts";
import type { ServerEvents } from "./events/server-events.ts";
import { runtimeSettings, type RuntimeSettings, type RuntimeOptions } from "./options.ts";
import { makeParts, type Parts } from "./parts.ts";
import {
  assertNotForOperators,
  assertScopesFor,
  isForOperators,
  judgeUpdate,
} from "./questions/questions.ts";
import { listVisible, ownRecord, ownScopes, ownSnapshot } from "./own-record.ts";
import { ownContext } from "./own-context.ts";
import { type ServerTelemetry, TaskTraces } from "./telemetry/telemetry.ts";
import type { ProcessCounts } from "./reports/process-counts.ts";
import type { Registry } from "./tool/registry.ts";
import { runInline } from "./execution/direct-run.ts";
import type {
  BesideTasks,
  CallEnd,
  CancelledNow,
  InlineRun,
  Leaving,
  LinesPage,
  ListPage,
  Requestor,
  Runtime,
  TaskCall,
  TaskEvent,
} from "./runtime.ts";
import { RuntimeLifecycle } from "./runtime-lifecycle.ts";
import { EventUrls } from "./event-urls.ts";
import { sendEvent } from "./execution/wait-for-event.ts";
import type { OnStepRun, Services } from "./services.ts";
import { ThreadPool } from "./threads/thread-pool.ts";
import { resolveWebhooks, type WebhookOptions } from "./webhooks/webhook-options.ts";
import type { Watcher } from "./changed-tasks.ts";
import type { Secret } from "../task/secret.ts";
import type { SecretName } from "./secrets.ts";

export interface RuntimeSetup {
  readonly store: TaskStore;
  readonly registry: Registry;
  readonly options?: RuntimeOptions;
  readonly clock?: Clock;
  /** Receives faults that no caller sees. Default: a line on stderr. */
  readonly onError?: (error: unknown) => void;
  readonly onStepRun?: OnStepRun | undefined;
  /** Where artifacts are kept, if not in the store. */
  readonly blobs?: Blobs | undefined;
  /** Receives events. */
  readonly events?: ServerEvents | undefined;
  readonly counts?: ProcessCounts | undefined;
  readonly telemetry?: ServerTelemetry | undefined;
  readonly webhooks?: readonly WebhookOptions[] | undefined;
}

/** A runtime on one store; `start` opens it. */
export function createRuntime(setup: RuntimeSetup): Runtime {
  const onError = errorReporter(setup.onError);
  const { store, registry, onStepRun, events, counts, telemetry, webhooks, blobs } = setup;
  const clock = StoreClock.of(setup.clock ?? systemClock);
  const commits = new Commits(clock);
  const options = runtimeSettings(setup.options ?? {});
  const lease = new Lease(store);
  const limits = new Limits({ store, clock, onError, limits: options.limits ?? {} });
  registry.checkEach(({ limit, name }) => {
    if (limit !== undefined) limits.assertDeclared(limit, `Tool "${name}"`);
  });
  return new LocalRuntime({
    store: observedStore(store, { commits, lease, events, counts, telemetry }),
    commits,
    lease,
    registry,
    options,
    eventUrls: new EventUrls(options.eventsUrl),
    clock,
    inOwnContext: ownContext(),
    onError,
    processes: new StartedProcesses({ folder: options.execFolder, store, clock, onError }),
    threads: new ThreadPool({
      threads: options.workerThreads,
      maxHeapBytes: options.maxWorkerHeapBytes,
      onError,
    }),
    limits,
    unreadable: new UnreadableTasks(onError, events),
    onStepRun,
    blobs: blobs && new ArtifactBlobs(blobs, clock),
    events,
    counts,
    telemetry,
    traces: telemetry && new TaskTraces(store),
    webhooks: resolveWebhooks(webhooks ?? []),
  });
}

/** Answers the neutral commands. */
class LocalRuntime implements Runtime {
  readonly registry: Registry;
  readonly options: RuntimeSettings;
  readonly clock: StoreClock;
  readonly store: TaskStore;
  readonly blobs: ArtifactBlobs | undefined;
  readonly sessions: SessionStore | undefined;
  readonly telemetry: ServerTelemetry | undefined;
  readonly traces: TaskTraces | undefined;
  readonly #services: Services;
  readonly #parts: Parts;
  readonly #lifecycle: RuntimeLifecycle;

  constructor(services: Services) {
    this.registry = services.registry;
    this.options = services.options;
    this.clock = services.clock;
    this.store = services.store;
    this.blobs = services.blobs;
    this.sessions = services.store.sessions;
    this.telemetry = services.telemetry;
    this.traces = services.traces;
    this.#services = services;
    this.#parts = makeParts(services);
    this.#lifecycle = new RuntimeLifecycle(services, this.#parts);
  }

  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  beside(work: BesideTasks): void {
    this.#lifecycle.beside(work);
  }

  drain(): void {
    this.#lifecycle.drain();
  }

  stop(withinMs = this.options.stopDeadlineMs): Promise<void> {
    return this.#lifecycle.stop(withinMs);
  }

  get isDrained(): boolean {
    return this.#parts.drain.state !== undefined;
  }

  ready(withinMs: number): Promise<boolean> {
    return this.#lifecycle.ready(withinMs);
  }

  async create(call: TaskCall): Promise<TaskSnapshot> {
    await this.#lifecycle.running();
    return this.#shown(await this.#parts.creation.create(call));
  }

  async call(call: TaskCall, signal: AbortSignal): Promise<CallEnd> {
    await this.#lifecycle.running();
    const end = await this.#parts.creation.call(call, signal);
    return end.kind === "task" ? { ...end, snapshot: this.#shown(end.snapshot) } : end;
  }

  async runInline(run: InlineRun): Promise<Outcome> {
    await this.#lifecycle.running();
    if (this.#parts.paused.has(run.tool.name)) {
      return errorResult(`Tool ${run.tool.name} is paused by the operators of this server. Try again later.`);
    }
    return runInline(run, this.#services, this.#parts.timers);
  }

  async get(
    id: string,
    requestor: Requestor,
    why?: "unasked",
    reserve?: ReserveMemory,
  ): Promise<TaskSnapshot> {
    await this.#lifecycle.running();
    const snapshot = await ownSnapshot(this.#services, this.#parts.sweeper, id, requestor, reserve);
    if (why === undefined) this.#parts.abandonments.asked(snapshot.task);
    return this.#shown(snapshot);
  }

  hasEnded(id: string, requestor: Requestor): Promise<boolean> {
    return this.#record(id, requestor).then(
      ({ finishedAt }) => finishedAt !== null,
      () => false,
    );
  }

  async list(requestor: Requestor, page: ListPage): Promise<readonly TaskRecord[]> {
    await this.#lifecycle.running();
    const visible = await listVisible(this.#services, requestor, page);
    const { sweeper } = this.#parts;
    return Promise.all(visible.map(async (task) => shownTask(await sweeper.ended(task), this.clock.now())));
  }

  async scopesOf(id: string, principal: string | null): Promise<readonly string[] | undefined> {
    await this.#lifecycle.running();
    return ownScopes(this.#services, id, principal);
  }

  async withKeys(principal: string | null, prefix: string, limit: number): Promise<readonly KeyedTask[]> {
    await this.#lifecycle.running();
    return this.#services.store.withKeys(principal, prefix, limit);
  }

  async find(wire: WireName): Promise<string | undefined> {
    await this.#lifecycle.running();
    return this.#services.store.find(wire);
  }

  async delivered(id: string, requestor: Requestor, deleteBy = Infinity): Promise<void> {
    const { finishedAt, idempotencyKey, sweepAt, promised } = await this.#record(id, requestor);
    const isKept = !promised && (sweepAt ?? Infinity) > deleteBy;
    if (finishedAt === null || (idempotencyKey === null && !isKept)) return;
    const release = { type: "release_key", now: this.clock.now(), id } as const;
    await this.#services.store.write(isKept ? { ...release, deleteBy } : release);
  }

  retrieved(task: TaskRecord, via: string): void {
    this.#parts.retrievals.deliver(task, via);
  }

  undelivered(task: TaskRecord): void {
    this.#parts.abandonments.undelivered(task);
  }

  watch(ids: readonly string[], watcher: Watcher): () => void {
    return this.#parts.watchers.watch(ids, watcher);
  }

  async lines(
    id: string,
    requestor: Requestor,
    page: LinesPage,
    why?: "unasked",
  ): Promise<readonly TaskLine[]> {
    await this.#record(id, requestor, why);
    const { logs } = this.#services.store;
    if (logs !== undefined) return logs.read(id, page.list, page.after, page.limit);
    throw new HoldfastError(
      "invalid_params",
      "The store of this server does not keep logs and outputs of tasks.",
    );
  }

  async artifacts(id: string, requestor: Requestor): Promise<readonly Artifact[]> {
    await this.#record(id, requestor);
    return artifactsOf(this.#services.store, id);
  }

  async artifact(id: string, requestor: Requestor, range: ArtifactRange): Promise<ArtifactPart | undefined> {
    await this.#record(id, requestor);
    return readRange(this.#services, id, range, this.options.maxBodyBytes);
  }

  async answer(id: string, requestor: Requestor, answers: readonly InputAnswer[]): Promise<void> {
    const task = await this.#record(id, requestor);
    const { store, clock } = this.#services;
    const accepted = await judgeUpdate(store, task, answers, {
      maxBytes: this.options.maxBodyBytes,
      assertMayAnswer(questions) {
        assertNotForOperators(questions);
        assertScopesFor(questions, requestor.scopes);
      },
      onUnreadable: (asking) => this.#parts.attempts.lookAtEnds(asking),
    });
    for (const [asking, own] of accepted) {
      const answer = {
        type: "answer_inputs",
        now: clock.now(),
        past: clock.pastForAll,
        id: asking,
        answers: own,
      } as const;
      const result = await store.write<"answer_inputs">(answer);
      if (result.ok) this.#changed(result.task, result.accepted);
    }
  }

  async sendEvent(id: string, event: TaskEvent): Promise<boolean> {
    await this.#lifecycle.running();
    const { task, isNew, ended } = await sendEvent(this.#services, this.#parts.sweeper, id, event);
    if (ended.length > 0) this.#changed(task, ended);
    return isNew;
  }

  async secret(name: SecretName): Promise<Secret> {
    await this.#lifecycle.running();
    return this.#parts.secrets.get(name);
  }

  async cancel(id: string, requestor: Requestor): Promise<void> {
    await this.#record(id, requestor);
    const task = await this.#parts.cancellation.request(id);
    if (task !== undefined) this.#changed(task);
  }

  async cancelNow(id: string, requestor: Requestor): Promise<CancelledNow> {
    await this.#record(id, requestor);
    return this.#cancelled(id, await this.#parts.cancellation.now(id));
  }

  async join(
    id: string,
    requestor: Requestor,
    terms: { readonly alone: boolean; readonly key?: string },
  ): Promise<TaskRecord | "awaited" | "released"> {
    await this.#record(id, requestor);
    const { store, clock } = this.#services;
    const result = await store.write<"join">({ type: "join", now: clock.now(), id, ...terms });
    if (result.ok) return result.task;
    if (result.reason === "unknown") throw unknownTask();
    return result.reason === "awaited" ? "awaited" : "released";
  }

  async leave(id: string, requestor: Requestor, how: Leaving): Promise<void> {
    await this.#record(id, requestor);
    const { store, clock } = this.#services;
    const result = await store.write<"leave">({ type: "leave", now: clock.now(), id, ...how });
    if (result.ok) this.#parts.sweeper.consider(result.task.sweepAt);
  }

  async cancelUnlessWanted(id: string, requestor: Requestor): Promise<CancelledNow | undefined> {
    await this.#record(id, requestor);
    const result = await this.#parts.cancellation.now(id, "unless wanted");
    return !result.ok && result.reason === "awaited" ? undefined : this.#cancelled(id, result);
  }

  async delete(id: string, requestor: Requestor): Promise<TaskRecord | undefined> {
    const task = await this.#record(id, requestor);
    const result = await this.#services.store.write<"delete">({ type: "delete", now: this.clock.now(), id });
    if (result.ok) return undefined;
    if (result.reason === "unknown") throw unknownTask();
    return task;
  }

  lookForWork(): void {
    this.#parts.dispatcher.wake();
    this.#parts.sweeper.consider(this.clock.now());
  }

  async originOf(id: string, requestor: Requestor): Promise<Origin> {
    await this.#record(id, requestor, "unasked");
    const request = await this.#services.store.request(id);
    if (request === undefined) throw unknownTask();
    return request.origin;
  }

  /** Runs a parked task again if its wait has ended. */
  #changed(task: TaskRecord, ended?: readonly string[]): void {
    this.#parts.attempts.changed(task, ended);
    if (task.state === "queued") this.#parts.dispatcher.wake();
  }

  async #cancelled(id: string, result: CommandResult<"cancel">): Promise<CancelledNow> {
    const task = result.ok ? result.task : await this.#services.store.get(id);
    if (task === undefined) throw unknownTask();
    if (result.ok) this.#parts.attempts.changed(task);
    return { task: shownTask(task, this.clock.now()), cancelled: result.ok };
  }

  #shown(snapshot: TaskSnapshot): TaskSnapshot {
    const task = shownTask(snapshot.task, this.clock.now());
    const inputs = snapshot.inputs.filter((each) => !isForOperators(each));
    const hidden = snapshot.inputs.length - inputs.length;
    if (hidden > 0) return { ...snapshot, task: { ...task, openInputs: task.openInputs - hidden }, inputs };
    return task === snapshot.task ? snapshot : { ...snapshot, task };
  }

  async #record(id: string, requestor: Requestor, why?: "unasked"): Promise<TaskRecord> {
    await this.#lifecycle.running();
    const task = await ownRecord(this.#services, this.#parts.sweeper, id, requestor);
    if (why === undefined) this.#parts.abandonments.asked(task);
    return task;
  }
}
