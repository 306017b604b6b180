import type { McpServer, Server } from "@modelcontextprotocol/server";
import type { Admin } from "../admin/operations.ts";
import { BulkRunner, type RunnerServices } from "../admin/bulk-runner.ts";
import { createAdmin } from "../admin/create-admin.ts";
import { assertOptions, settingsOf } from "../options/options.ts";
import { createRuntime, type RuntimeSetup } from "../runtime/create-runtime.ts";
import { inThisContext } from "../runtime/own-context.ts";
import { StoreClock, systemClock, type Clock } from "../runtime/clock.ts";
import { errorReporter } from "../runtime/error-reporter.ts";
import { Registry } from "../runtime/tool/registry.ts";
import type { HandlerModule, WorkerExport } from "../runtime/threads/worker-options.ts";
import type { CheckedHandler, DurableTool, FitsTool, ToolConfig } from "../runtime/tool/tool.ts";
import type { Returnable } from "../runtime/tool/handler-return.ts";
import type { ToolArguments, ToolSchema } from "../runtime/tool/schema.ts";
import type { ServerFactory } from "./author-server.ts";
import { PlainPolicies } from "./plain/plain-policies.ts";
import { sendOptions, type EventSchemas, type SendOptions } from "../runtime/tool/declared-events.ts";
import { type TaskSettings, tasksOptions, type TasksOptions, type Unset } from "./tasks-options.ts";
import { RequestForwarder } from "./sep-1686/forwarded-requests.ts";
import { registrars } from "./durable/registrations.ts";
import { keepInside } from "./request.ts";
import { createTaskServer } from "./create-task-server.ts";
import { assertServes, type TaskServer } from "./task-server.ts";
import type { ServerEvent } from "../runtime/events/server-event.ts";
import { ServerEvents, type OnEvent } from "../runtime/events/server-events.ts";
import { ProcessCounts } from "../runtime/reports/process-counts.ts";
import type { ServerTelemetry } from "../runtime/telemetry/telemetry.ts";
import type { Watch } from "../runtime/watchdog/running-code.ts";
import { Watchdog } from "../runtime/watchdog/watchdog.ts";

/** The durable tools of a process. */
export interface Tasks {
  /**
   * Registers a tool whose calls survive crashes, deploys and reconnects. Its handler gets the validated arguments and the task. A step
   * that finished in `task.step` does not run again after a crash. Returns the tool, which other handlers can call and which you can change
   * or remove. You can register tools at any time; connected clients are notified. Throws `configuration` for a name that is taken, and for
   * invalid options.
   *
   * ```ts
   * tasks.tool(
   *   "publish_report",
   *   { description: "Renders and sends a report", inputSchema: z.object({ month: z.string() }) },
   *   async ({ month }, task) => {
   *     const pages = await task.step("render", () => render(month));
   *     await task.step("send", ({ idempotencyKey }) => send(pages, idempotencyKey));
   *     return { content: [{ type: "text", text: `${pages.length} pages sent` }] };
   *   },
   * );
   * ```
   */
  tool<
    Input extends ToolSchema | undefined = undefined,
    Prepared = undefined,
    Older = Record<never, never>,
    Output extends ToolSchema | undefined = undefined,
    Returned extends Returnable = never,
    Declared extends EventSchemas | undefined = undefined,
  >(
    name: string,
    config: ToolConfig<Input, Prepared, Older, Output, Declared>,
    handler: CheckedHandler<
      ToolArguments<Input>,
      NoInfer<Prepared>,
      NoInfer<Output>,
      Returned,
      NoInfer<Declared>
    >,
  ): DurableTool<Input, Prepared, Older, Output, Declared>;
  /**
   * Adds a tool whose handler is a function of a module that runs on a thread (`worker`), so that it may compute for as long as it likes. The
   * function gets the arguments, and reports as a step on a thread does. It is the only step of its task: a crash of the server runs it again,
   * unless `onCrash` is `"fail"`, and a thread that crashes is one attempt that `retry` may follow.
   *
   * ```ts
   * tasks.threadTool("render", { inputSchema: z.object({ scene: z.string() }), worker: { module: rendering, export: "render" } });
   * ```
   */
  threadTool<
    Input extends ToolSchema | undefined = undefined,
    Output extends ToolSchema | undefined = undefined,
    Exports = unknown,
    const Name extends WorkerExport<Exports> = WorkerExport<Exports>,
  >(
    name: string,
    config: ToolConfig<Input, undefined, Record<never, never>, Output, undefined> & {
      readonly worker: HandlerModule<Exports, Name>;
    } & FitsTool<Input, Output, Exports, Name>,
  ): DurableTool<Input, undefined, Record<never, never>, Output>;
  /**
   * Adds the tools to the servers that `factory` makes, for `serveHttp`, `serveStdio` and mounted handlers. The factory returns a new
   * server on each call, with its own tools, resources and prompts. Throws `configuration` without the role `serve`.
   *
   * ```ts
   * await serveHttp(tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" })));
   * ```
   */
  server(factory: ServerFactory<McpServer | Server>): TaskServer;
  /**
   * Sends an event to the task `id`, which its handler sees as `task.id`. One call of `task.waitForEvent` with the same name resolves with
   * `value`: whatever a step may return. The call may be waiting already, or come later, even after a crash. Resolves once the event is
   * stored: with true, or with false if an event with the same `dedupeId` came before. Any process that has started tasks on the same store
   * can send. The sender is not checked against the task's caller. If this process has the task's tool, and that declares its `events`, an
   * event of another name or with another value rejects with `invalid_params`. Rejects with `unknown_task`, `finished`, `not_json`, `too_large`, and
   * with `limit_reached` if too many events of the task wait (`maxEventsPerTask`).
   *
   * ```ts
   * const isNew = await tasks.sendEvent(order.taskId, "payment", { paid: true }, { dedupeId: delivery.id });
   * ```
   */
  sendEvent(id: string, name: string, value?: unknown, options?: SendOptions): Promise<boolean>;
  /**
   * For operators of the server: lists and shows tasks; cancels, answers, retries, extends and deletes them; and pauses tools. Each change
   * names the operator who made it. Nothing here checks permissions. It works after `start`; before, it rejects with `store_closed`.
   *
   * ```ts
   * const { tasks: failed } = await tasks.admin.list({ tool: "publish_report", states: ["failed"] });
   * for (const { id, error } of failed) console.log(id, error);
   * await tasks.admin.as("ann").bulk("retry", { tool: "publish_report", states: ["failed"] });
   * ```
   */
  readonly admin: Admin;
  /**
   * Opens the store and takes over the tasks of an earlier process. `serveHttp` and `serveStdio` call it; a mounted handler calls it on its
   * first request. Idempotent.
   */
  start(): Promise<void>;
  /** Waits up to `stopDeadlineMs` for running handlers, returns the other tasks to the store and closes it. */
  stop(): Promise<void>;
}

/**
 * Creates the durable tools of a process. `start` opens the store. Throws `configuration` for invalid options.
 *
 * ```ts
 * const tasks = createTasks({ store: sqliteStore("tasks.db"), keepMs: 3_600_000 });
 * ```
 */
export function createTasks(given: TasksOptions): Tasks {
  return createTasksWith(given, {});
}

/** What tests add to the options of `createTasks`. */
export type TestedBy = Pick<RuntimeSetup, "clock" | "onStepRun">;

/** `createTasks` in a test. */
export function createTasksWith(given: TasksOptions, testedBy: TestedBy): Tasks {
  return openTasks(given, testedBy).tasks;
}

/** The tasks of a process, and a function that makes servers with them even without the role `serve`. */
export interface OpenTasks {
  readonly tasks: Tasks;
  readonly serverOf: (factory: ServerFactory<McpServer | Server>) => TaskServer;
}

export function openTasks(given: TasksOptions, testedBy: TestedBy): OpenTasks {
  assertOptions("createTasks", given ?? {}, tasksOptions);
  const {
    store,
    onError: report,
    onEvent,
    telemetry,
    webhooks,
    blobs,
    ...settings
  } = settingsOf<TasksOptions, Unset>(tasksOptions, given);
  const onError = errorReporter(report);
  const clock = StoreClock.of(testedBy.clock ?? systemClock);
  const { events, served, counts } = observersOf({ onEvent, telemetry, clock, onError });
  const registry = new Registry();
  const policies = new PlainPolicies(registry, settings);
  const forwarder = new RequestForwarder(registry);
  const runtime = createRuntime({
    store,
    registry,
    options: given,
    onError,
    events,
    counts,
    telemetry,
    webhooks,
    blobs,
    ...testedBy,
    clock,
  });
  const operated: RunnerServices = {
    store: runtime.store,
    blobs: runtime.blobs,
    now: () => runtime.clock.now(),
    after: (ms, run) => runtime.clock.after(ms, run),
    every: (ms, run) => runtime.clock.every(ms, run),
    randomBytes: (size) => runtime.clock.randomBytes(size),
    maxBodyBytes: runtime.options.maxBodyBytes,
    onChange: () => runtime.lookForWork(),
  };
  const runner = new BulkRunner(operated);
  runtime.beside(runner);
  const watch = watchOf(settings);
  // A clock that a test sets says nothing of a loop that is blocked.
  if (watch !== undefined && testedBy.clock === undefined)
    runtime.beside(new Watchdog({ watch, events, onError }));
  const admin = createAdmin(operated, runner);
  const serverOf = (factory: ServerFactory<McpServer | Server>): TaskServer => {
    registrars(); // a tool with task that the factory registers on the SDK is refused, and not taken for one without
    return createTaskServer({
      runtime,
      admin,
      factory,
      onError,
      events: served,
      settings,
      policies,
      forwarder,
    });
  };
  const send: Tasks["sendEvent"] = async (id, name, value, options = {}) => {
    assertOptions("tasks.sendEvent", options, sendOptions);
    return runtime.sendEvent(id, { name, value, dedupeId: options.dedupeId });
  };
  registry.sendBy(send);
  const tasks: Tasks = {
    tool: (name, config, handler) => registry.add(name, config, handler),
    threadTool: (name, config) => registry.add(name, config),
    server(factory) {
      assertServes(runtime.options);
      return serverOf(factory);
    },
    sendEvent: send,
    admin,
    async start() {
      policies.assertNoCollision();
      await runtime.start();
    },
    stop: () => runtime.stop(),
  };
  keepInside(tasks, { runtime, onError, events });
  return { tasks, serverOf };
}

function watchOf({
  loopBlockedMs,
  onBlocked,
  blockedExitMs,
  healthPort: port,
  healthHost: host,
}: TaskSettings): Omit<Watch, "id"> | undefined {
  if (loopBlockedMs === null) return undefined;
  const exitMs = onBlocked === "exit" ? Math.max(blockedExitMs, loopBlockedMs) : null;
  return { loopBlockedMs, exitMs, health: port === undefined ? null : { host, port } };
}

interface ObserversSetup {
  readonly onEvent: OnEvent | undefined;
  readonly telemetry: ServerTelemetry | undefined;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** The receivers of a process's events. */
interface Observers {
  /** For events of tasks; undefined if nothing listens. */
  readonly events: ServerEvents | undefined;
  /** For refused requests: exists even without listeners, since these requests are reported. */
  readonly served: ServerEvents;
  /** What is reported. Of tasks, which are many, it counts the writes. */
  readonly counts: ProcessCounts;
}

export function observersOf({ onEvent, telemetry, clock, onError }: ObserversSetup): Observers {
  const measure = telemetry && ((event: ServerEvent) => telemetry.metrics.event(event));
  const listeners = [onEvent && inThisContext(onEvent), measure].filter((listener) => listener !== undefined);
  const counts = new ProcessCounts(clock);
  const count = (event: ServerEvent): void => counts.count(event);
  return {
    events: listeners.length === 0 ? undefined : new ServerEvents({ listeners, clock, onError }),
    served: new ServerEvents({ listeners: [...listeners, count], clock, onError }),
    counts,
  };
}
