import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import { createRuntime } from "../runtime/create-runtime.ts";
import type { RuntimeOptions } from "../runtime/options.ts";
import { Registry } from "../runtime/tool/registry.ts";
import type { PlainPolicy, ToolArguments, ToolConfig, ToolHandler } from "../runtime/tool/tool.ts";
import type { TaskStore } from "../store/store.ts";
import type { CompanionNames } from "./plain/companion-names.ts";
import { PlainPolicies } from "./plain/policy.ts";
import { defaultListenLimits } from "./listen/listen-places.ts";
import { resolveRates, type RateOptions } from "./rates/rate-options.ts";
import { HeldRequests } from "./sep-1686/held-requests.ts";
import { createTaskServer, type ServerFactory, type TaskServer } from "./task-server.ts";

/** What `createTasks` takes; every member but `store` has a default. */
export interface TasksOptions extends Partial<RuntimeOptions> {
  /** Where tasks live: `sqliteStore("tasks.db")`, or `memoryStore()` for tasks that end with the process. */
  readonly store: TaskStore;
  /** Hears of faults that their caller is not told about; by default a line on stderr. Must not throw. */
  readonly onError?: (error: unknown) => void;
  /** Answers a call that lacks a capability with -32003, as first drafts had it, in place of -32021; default false. */
  readonly legacyErrorCodes?: boolean;
  /**
   * On protocol 2025-11-25, refuses a call that could have asked for a task and did not, with -32600; default
   * false. Clients without tasks can then not call such a tool.
   */
  readonly requireTasks?: boolean;
  /**
   * On protocol 2026-07-28, lists tools that are `required` to clients without tasks too, which cannot call them; default
   * false. In earlier revisions all tools are listed, as the list tells clients which ones are tasks.
   */
  readonly listRequiredTools?: boolean;
  /**
   * How calls of optional tools are answered whose client has no tasks: `wait` (default) when the work is done, `ticket`
   * then too, but after `plainDeadlineMs` with a reference by which the model comes back. A tool can have its own.
   */
  readonly plain?: PlainPolicy;
  /** How long such a call waits before it is answered with a ticket, in milliseconds; default 45 seconds. */
  readonly plainDeadlineMs?: number;
  /** Other names for the companions of tools with tickets: `task_result`, `task_cancel`, `task_answer`, `task_list`. */
  readonly companions?: Partial<CompanionNames>;
  /** How fast one principal may be; members that are left out have their defaults. */
  readonly rates?: Partial<RateOptions>;
  /** Streams on which one principal listens to tasks at a time; default 100. */
  readonly maxListensPerPrincipal?: number;
  /** Tasks that one of these streams may name; more are refused. Default 1,000. */
  readonly maxIdsPerListen?: number;
}

/** The durable tools of a process. */
export interface Tasks {
  /**
   * Registers a tool whose calls survive crashes, deploys and reconnects. Its handler gets the validated
   * arguments and the task: what runs in `task.step` is not run again after a crash. Throws `configuration` for a
   * name that is taken, and after `start`.
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
  tool<Input extends StandardSchemaV1 | undefined = undefined, Prepared = undefined>(
    name: string,
    config: ToolConfig<Input, Prepared>,
    handler: ToolHandler<ToolArguments<Input>, NoInfer<Prepared>>,
  ): void;
  /**
   * Adds the tools to the servers that `factory` makes, for `serveHttp` and `serveStdio`. The factory returns a new server each time
   * it is called, with whatever tools, resources and prompts of its own.
   *
   * ```ts
   * await serveHttp(tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" })));
   * ```
   */
  server(factory: ServerFactory): TaskServer;
  /** Seals the registry, opens the store and takes over what an earlier process left; `serveHttp` and `serveStdio` call it. */
  start(): Promise<void>;
  /** Lets running handlers end until `stopDeadlineMs`, gives the rest back to the store and closes it. */
  stop(): Promise<void>;
}

/**
 * The durable tools of this process, kept in `store`. Throws nothing by itself: the store is opened by `start`.
 *
 * ```ts
 * const tasks = createTasks({ store: sqliteStore("tasks.db"), ttlMs: 3_600_000 });
 * ```
 */
export function createTasks({
  store,
  onError = report,
  legacyErrorCodes = false,
  requireTasks = false,
  listRequiredTools = false,
  plain = "wait",
  plainDeadlineMs = 45_000,
  companions = {},
  rates = {},
  maxListensPerPrincipal = defaultListenLimits.maxListensPerPrincipal,
  maxIdsPerListen = defaultListenLimits.maxIdsPerListen,
  ...options
}: TasksOptions): Tasks {
  const registry = new Registry();
  const policies = new PlainPolicies(registry, { plain, plainDeadlineMs, companions });
  const setup = {
    legacyErrorCodes,
    requireTasks,
    listRequiredTools,
    rates: resolveRates(rates),
    maxListensPerPrincipal,
    maxIdsPerListen,
    policies,
    held: new HeldRequests(registry),
  };
  const runtime = createRuntime({ store, registry, options, onError });
  return {
    tool: (name, config, handler) => registry.add(name, config, handler),
    server: (factory) => createTaskServer({ runtime, factory, onError, ...setup }),
    async start() {
      policies.assertNoCollision();
      await runtime.start();
    },
    stop: () => runtime.stop(),
  };
}

function report(error: unknown): void {
  console.error("holdfast:", error);
}
