import { HoldfastError } from "../../task/fault.ts";
import type { ServerFactory } from "../author-server.ts";
import type { TaskServer } from "../task-server.ts";
import type { TasksOptions } from "../tasks-options.ts";
import { openTasks, type Tasks, type TestedBy } from "../tasks.ts";
import { DurableTools } from "./durable-tools.ts";

/** A server with its tasks, for `serveHttp`, `serveStdio` and mounted handlers. */
export interface DurableServer extends TaskServer {
  /** For `sendEvent`, for more tools, and to start and stop without a transport of Holdfast. */
  readonly tasks: Tasks;
}

/**
 * Makes tools of a server on the official SDK durable: those that `factory` registers with `task` in their configs. It runs once at the
 * start, without a client, to get these tools and their handlers, and again for each client. The SDK still handles all other tools,
 * resources and prompts.
 *
 * ```ts
 * const makeServer = () => {
 *   const server = new McpServer({ name: "reports", version: "1.0.0" });
 *   server.registerTool(
 *     "report",
 *     { task: "optional", description: "Makes a report", inputSchema: z.object({ month: z.string() }) },
 *     async ({ month }, ctx) => {
 *       const pages = await ctx.task.step("render", () => render(month));
 *       return { content: [{ type: "text", text: `${pages.length} pages` }] };
 *     },
 *   );
 *   return server;
 * };
 * await serveHttp(durable(makeServer, { store: sqliteStore("tasks.db") }));
 * ```
 *
 * Handlers get the SDK's context, with the task in `ctx.task`. Its questions become questions of the task, and are stored. Parts that a
 * task cannot have, such as the stream of a call that has ended, throw `no_request`. Throws `configuration` for invalid options, and if a
 * factory registers its tools for some clients only; with an asynchronous factory, the start rejects with it.
 */
export function durable(factory: ServerFactory, options: TasksOptions): DurableServer {
  return durableWith(factory, options, {});
}

/** `durable` in a test. */
export function durableWith(
  factory: ServerFactory,
  options: TasksOptions,
  testedBy: TestedBy,
): DurableServer {
  if (typeof factory !== "function") {
    throw new HoldfastError(
      "configuration",
      "durable takes the function that makes your server, and then the options: durable(() => new McpServer({ name, version }), { store }).",
    );
  }
  const { tasks, serverOf } = openTasks(options, testedBy);
  const tools = new DurableTools(factory, tasks);
  const server = serverOf((context) => tools.make(context));
  const collected = tools.collect();
  collected?.catch(() => undefined); // the start rejects with it
  const after = (start: () => Promise<void>) => async (): Promise<void> => {
    await collected;
    await start();
  };
  Object.assign(tasks, { start: after(tasks.start.bind(tasks)) });
  return Object.assign(server, { start: after(server.start.bind(server)), tasks });
}
