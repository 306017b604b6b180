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

/** Options of `createTasks`. All but `store` have defaults. */
export interface TasksOptions extends Partial<RuntimeOptions> {
  /** Where tasks are stored: `sqliteStore("tasks.db")`, or `memoryStore()` for tasks that end with the process. */
  readonly store: TaskStore;
  /** Called with errors that no caller is told about. Default: prints a line to stderr. */
  readonly onError?: (error: unknown) => void;
  /**
   * Called with each event of this process (of its tasks, requests and store) after the change is committed. Nothing waits for it, and if
   * it throws, the error goes to `onError`. `pinoEvents` of `holdfast/pino` writes events to a log. Default: none, at no cost.
   */
  readonly onEvent?: (event: ServerEvent) => unknown;
  /** Traces and measures this process: `openTelemetry()` of `holdfast/opentelemetry`. Default: none, at no cost. */
  readonly telemetry?: ServerTelemetry;
  /** Answers a call that lacks a capability with -32003, as in early drafts, instead of -32021. Default false. */
  readonly legacyErrorCodes?: boolean;
  /**
   * In protocol 2025-11-25, refuses calls that could ask for a task but do not, with -32600. Clients without tasks then cannot call such
   * tools. Default false.
   */
  readonly requireTasks?: boolean;
  /**
   * In protocol 2026-07-28, also lists `required` tools to clients without tasks, which cannot call them. Default false. Earlier revisions
   * always list all tools, because the list says which tools take tasks.
   */
  readonly listRequiredTools?: boolean;
  /**
   * How the server answers clients without tasks when they call an optional tool. `wait`: when the work is done. `ticket`: when the work is
   * done, or after `plainDeadlineMs` with a reference that the model uses to fetch the result later. Default `ticket`, or `wait` for tools
   * with an output schema. A tool can override it.
   */
  readonly plain?: PlainPolicy;
  /** How long such a call waits before it gets a ticket, in milliseconds. Default 45 seconds. */
  readonly plainDeadlineMs?: number;
  /**
   * How long the task of such a call continues after its client timed out, in milliseconds, so that a repeated call finds it. Then the task
   * is cancelled. 0 cancels it at once. Default 10 minutes.
   */
  readonly plainGraceMs?: number;
  /**
   * Names of the polling tools that come with tickets. Default: `task_result` for `result` and `task_cancel` for `cancel`. `answer` and
   * `list` exist only if you name them.
   */
  readonly companions?: Partial<CompanionNames>;
  /** Rate limits of one principal. Limits that you leave out keep their defaults. */
  readonly rates?: Partial<RateOptions>;
  /** Streams on which one principal may listen to tasks at the same time. Default 100. */
  readonly maxListensPerPrincipal?: number;
  /** Maximum number of tasks that one such stream may name. Default 1,000. */
  readonly maxIdsPerListen?: number;
  /**
   * Services to notify when a task is created, changes its status, or is deleted early. Messages contain no arguments, results or texts.
   * Each is stored with the change and retried for up to three days. Default: none, at no cost.
   */
  readonly webhooks?: readonly WebhookOptions[];
}

export interface SendOptions {
  /** Identifies the event, at most 255 characters. Another event with the same id has no effect as long as the task lives. */
  readonly dedupeId?: string;
}

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
   * `value`, which must be plain JSON data. The call may be waiting already, or come later, even after a crash. Resolves once the event is
   * stored: with true, or with false if an event with the same `dedupeId` came before. Any process that has started tasks on the same store
   * can send. The sender is not checked against the task's caller. Rejects with `unknown_task`, `finished`, `not_json`, `too_large`, and
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

/** JavaScript callers can pass anything: says what is missing, and shows the right form. */
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
