import type { Admin } from "../admin/admin.ts";
import { createAdmin } from "../admin/create-admin.ts";
import type { McpServer, Server, StandardSchemaV1 } from "@modelcontextprotocol/server";
import { createRuntime, type RuntimeSetup } from "../runtime/create-runtime.ts";
import { systemClock } from "../runtime/clock.ts";
import { errorReporter } from "../runtime/error-reporter.ts";
import type { ServerEvent } from "../runtime/events/server-event.ts";
import { defaultOptions, type RuntimeOptions } from "../runtime/options.ts";
import type { ServerTelemetry } from "../runtime/telemetry/telemetry.ts";
import { Registry } from "../runtime/tool/registry.ts";
import { HoldfastError } from "../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../task/option-names.ts";
import type { PlainPolicy, ToolArguments, ToolConfig, ToolHandler } from "../runtime/tool/tool.ts";
import type { WebhookOptions } from "../runtime/webhooks/webhook-options.ts";
import type { DurableTool } from "../runtime/tool/durable-tool.ts";
import type { TaskStore } from "../store/store.ts";
import type { ServerFactory } from "./author-server.ts";
import { PlainPolicies, type CompanionNames } from "./plain/plain-policies.ts";
import { defaultListenLimits } from "./listen/listen-slots.ts";
import { resolveRates, type RateOptions } from "./rates/rate-options.ts";
import { observersOf } from "./observers.ts";
import { RequestForwarder } from "./sep-1686/forwarded-requests.ts";
import { registrars } from "./durable/registrations.ts";
import { keepInside } from "./inside-tasks.ts";
import { createTaskServer } from "./create-task-server.ts";
import { assertServes, type TaskServer } from "./task-server.ts";

/** Options of `createTasks`; all but `store` have defaults. */
export interface TasksOptions extends Partial<RuntimeOptions> {
  /** Where tasks are stored: `sqliteStore("tasks.db")`, or `memoryStore()` for tasks that end with the process. */
  readonly store: TaskStore;
  /** Called with errors that no caller is told about. Default: prints a line to stderr. */
  readonly onError?: (error: unknown) => void;
  /**
   * Called with each thing that happens in this process, to its tasks, requests and store, once it is committed. It is waited for by nobody, and
   * what it throws goes to `onError`. `pinoEvents` of `holdfast/pino` is one that writes logs. Default: nobody listens, and events cost nothing.
   */
  readonly onEvent?: (event: ServerEvent) => unknown;
  /** What traces and measures this process: `openTelemetry()` of `holdfast/opentelemetry`. Default: nothing, and that costs nothing. */
  readonly telemetry?: ServerTelemetry;
  /** Answers a call that lacks a capability with -32003, as in early drafts, instead of -32021. Default false. */
  readonly legacyErrorCodes?: boolean;
  /**
   * In protocol 2025-11-25, refuses calls that could ask for a task and do not, with -32600. Clients without tasks cannot
   * call such tools then. Default false.
   */
  readonly requireTasks?: boolean;
  /**
   * In protocol 2026-07-28, lists `required` tools also to clients without tasks, which cannot call them. Default false. In
   * earlier revisions all tools are listed, since the list says which tools take tasks.
   */
  readonly listRequiredTools?: boolean;
  /**
   * How clients without tasks are answered when they call an optional tool. `ticket`: when the work is done, or after
   * `plainDeadlineMs` with a reference that the model uses to fetch the result later. `wait`: when the work is done. Default
   * `ticket`, and `wait` for tools with an output schema. A tool can override it.
   */
  readonly plain?: PlainPolicy;
  /** How long such a call waits before it is answered with a ticket, in milliseconds. Default 45 seconds. */
  readonly plainDeadlineMs?: number;
  /**
   * How long the task of such a call goes on after its client ran out of time, in milliseconds, so that the same call finds
   * it; then it is cancelled. 0 cancels it at once. Default 10 minutes.
   */
  readonly plainGraceMs?: number;
  /**
   * The names of the polling tools, which go with tickets. `result` and `cancel` are `task_result` and `task_cancel` by
   * default; `answer` and `list` are there only if they are named.
   */
  readonly companions?: Partial<CompanionNames>;
  /** Rate limits of one principal. Those left out have their defaults. */
  readonly rates?: Partial<RateOptions>;
  /** Streams on which one principal may listen to tasks at the same time. Default 100. */
  readonly maxListensPerPrincipal?: number;
  /** Tasks that one such stream may name; more are refused. Default 1,000. */
  readonly maxIdsPerListen?: number;
  /**
   * Where it is told that a task was made, has another status, or was deleted before its time. What is told has no arguments, results or texts. It is stored
   * with the change, and sent until it has come or three days are over. Default: none, and that costs nothing.
   */
  readonly webhooks?: readonly WebhookOptions[];
}

export interface SendOptions {
  /** What the event is known by, at most 255 characters: another one with the same changes nothing, as long as the task lives. */
  readonly dedupeId?: string;
}

/** The durable tools of a process. */
export interface Tasks {
  /**
   * Registers a tool whose calls survive crashes, deploys and reconnects. Its handler gets the validated arguments and
   * the task; a step that finished in `task.step` does not run again after a crash. Returns what the handlers of other
   * tools call it by, and what changes or removes it. Tools may come at any time, also while clients are connected, which hear of it. Throws
   * `configuration` for a name that is taken, and for wrong options.
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
    Input extends StandardSchemaV1 | undefined = undefined,
    Prepared = undefined,
    Older = Record<never, never>,
    Output extends StandardSchemaV1 | undefined = undefined,
  >(
    name: string,
    config: ToolConfig<Input, Prepared, Older, Output>,
    handler: ToolHandler<ToolArguments<Input>, NoInfer<Prepared>>,
  ): DurableTool<Input, Prepared, Older, Output>;
  /**
   * Adds the tools to the servers that `factory` makes, for `serveHttp`, `serveStdio` and handlers to mount. The factory returns a new server
   * on each call, with tools, resources and prompts of its own. Throws `configuration` where the role `serve` is missing.
   *
   * ```ts
   * await serveHttp(tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" })));
   * ```
   */
  server(factory: ServerFactory<McpServer | Server>): TaskServer;
  /**
   * Gives an event to the task `id`, which is `task.id` in its handler: one call of `task.waitForEvent` with the same name resolves with
   * `value`, which is plain JSON data, be it that it waits already or comes to that later, after a crash too. Resolves once the event is stored: true, or
   * false where one came before under the same `dedupeId`, be it of a service that sends its webhooks more than once. Any process that has
   * started tasks on the same store can send. Whoever calls this is not checked against the task's caller. Rejects with `unknown_task`,
   * `finished`, `not_json`, `too_large`, and with `limit_reached` where too many events of the task wait (`maxEventsPerTask`).
   *
   * ```ts
   * const isNew = await tasks.sendEvent(order.taskId, "payment", { paid: true }, { dedupeId: delivery.id });
   * ```
   */
  sendEvent(id: string, name: string, value?: unknown, options?: SendOptions): Promise<boolean>;
  /**
   * For operators of the server, whose rights nobody checks here: lists tasks, shows one whole, and cancels, answers, runs again, extends and deletes tasks, or pauses
   * tools, in the name of somebody. It works from `start` on; before, it rejects with `store_closed`.
   *
   * ```ts
   * const { tasks: failed } = await tasks.admin.list({ tool: "publish_report", states: ["failed"] });
   * for (const { id, error } of failed) console.log(id, error);
   * await tasks.admin.as("ann").bulk("retry", { tool: "publish_report", states: ["failed"] });
   * ```
   */
  readonly admin: Admin;
  /**
   * Opens the store and takes over the tasks of an earlier process. `serveHttp` and
   * `serveStdio` call it; a handler that is mounted does so with its first request. Idempotent.
   */
  start(): Promise<void>;
  /** Waits up to `stopDeadlineMs` for running handlers, gives the other tasks back to the store and closes it. */
  stop(): Promise<void>;
}

/**
 * Creates the durable tools of a process. The store is opened by `start`. Throws `configuration` for wrong options.
 *
 * ```ts
 * const tasks = createTasks({ store: sqliteStore("tasks.db"), keepMs: 3_600_000 });
 * ```
 */
export function createTasks(given: TasksOptions): Tasks {
  return createTasksWith(given, {});
}

/** What tests give to the tasks of a process beside its options. */
export type TestedBy = Pick<RuntimeSetup, "clock" | "onStepRun">;

/** `createTasks` in a test. */
export function createTasksWith(given: TasksOptions, testedBy: TestedBy): Tasks {
  return openTasks(given, testedBy).tasks;
}

/** The tasks of a process, and what makes servers with them also where they take no requests. */
export interface OpenTasks {
  readonly tasks: Tasks;
  readonly serverOf: (factory: ServerFactory<McpServer | Server>) => TaskServer;
}

export function openTasks(given: TasksOptions, testedBy: TestedBy): OpenTasks {
  assertTasksOptions(given);
  const {
    store,
    onError: report,
    onEvent,
    telemetry,
    legacyErrorCodes = false,
    requireTasks = false,
    listRequiredTools = false,
    plain,
    plainDeadlineMs = 45_000,
    plainGraceMs = 600_000,
    companions = {},
    rates = {},
    maxListensPerPrincipal = defaultListenLimits.maxListensPerPrincipal,
    maxIdsPerListen = defaultListenLimits.maxIdsPerListen,
    webhooks,
    ...options
  } = given;
  const onError = errorReporter(report);
  const { clock = systemClock } = testedBy;
  const { events, served, counts } = observersOf({ onEvent, telemetry, clock, onError });
  const registry = new Registry();
  const policies = new PlainPolicies(registry, { plain, plainDeadlineMs, plainGraceMs, companions });
  const setup = {
    legacyErrorCodes,
    requireTasks,
    listRequiredTools,
    rates: resolveRates(rates),
    maxListensPerPrincipal,
    maxIdsPerListen,
    policies,
    forwarder: new RequestForwarder(registry),
  };
  const runtime = createRuntime({
    store,
    registry,
    options,
    onError,
    events,
    counts,
    telemetry,
    webhooks,
    ...testedBy,
  });
  const admin = createAdmin({
    store: runtime.store,
    now: () => runtime.clock.now(),
    after: (ms, run) => runtime.clock.after(ms, run),
    randomBytes: (size) => runtime.clock.randomBytes(size),
    maxBodyBytes: runtime.options.maxBodyBytes,
    onChange: () => runtime.lookForWork(),
  });
  const serverOf = (factory: ServerFactory<McpServer | Server>): TaskServer => {
    registrars(); // a tool with task that the factory registers on the SDK is refused, and not taken for one without
    return createTaskServer({ runtime, admin, factory, onError, events: served, ...setup });
  };
  const tasks: Tasks = {
    tool: (name, config, handler) => registry.add(name, config, handler),
    server(factory) {
      assertServes(runtime.options);
      return serverOf(factory);
    },
    async sendEvent(id, name, value, sendOptions = {}) {
      assertOptionNames("tasks.sendEvent", sendOptions, sendOptionNames);
      return runtime.sendEvent(id, { name, value, dedupeId: sendOptions.dedupeId });
    },
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

const sendOptionNames: OptionNames<SendOptions> = { dedupeId: true };

const ownOptions: OptionNames<Omit<TasksOptions, keyof RuntimeOptions>> = {
  store: true,
  onError: true,
  onEvent: true,
  telemetry: true,
  legacyErrorCodes: true,
  requireTasks: true,
  listRequiredTools: true,
  plain: true,
  plainDeadlineMs: true,
  plainGraceMs: true,
  companions: true,
  rates: true,
  maxListensPerPrincipal: true,
  maxIdsPerListen: true,
  webhooks: true,
};

/** In JavaScript anything can be given: says what is missing, and the right form. */
function assertTasksOptions(given: unknown): void {
  const { store } = (given ?? {}) as { store?: unknown };
  if (typeof store !== "object" || store === null || !("open" in store)) {
    throw new HoldfastError(
      "configuration",
      `createTasks needs a store${store === undefined ? "" : `, not ${typeof store}`}: createTasks({ store: sqliteStore("tasks.db") }).`,
    );
  }
  assertOptionNames("createTasks", given, { ...defaultOptions, ...ownOptions });
}
