import { McpServer, type McpRequestContext, type RegisteredTool } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { assertMade, sameServer, type ServerFactory } from "../author-server.ts";
import type { TaskServer } from "../task-server.ts";
import type { TasksOptions } from "../tasks-options.ts";
import { openTasks, type Tasks, type TestedBy } from "../tasks.ts";
import { FactoryRun, registering, type Registration, wrongTool } from "./registrations.ts";
import { RegisteredDurableTool } from "./registered-tool.ts";

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

/** The client that the first run of the factory gets. */
const noClient: McpRequestContext = { era: "modern" };

/** The durable tools that an author's factory registers: those of its first run, which has no client, are those of the process. */
export class DurableTools {
  readonly #factory: ServerFactory;
  readonly #tasks: Pick<Tasks, "tool">;
  readonly #registered = new Map<string, RegisteredDurableTool>();
  readonly #first = new FactoryRun(true, noClient);
  /** By the first run, which no client gets. */
  #made: McpServer | undefined;

  constructor(factory: ServerFactory, tasks: Pick<Tasks, "tool">) {
    this.#factory = factory;
    this.#tasks = tasks;
  }

  /** Runs the factory for its tools; throws, or rejects, with what it throws, and with `configuration`. */
  collect(): void | Promise<void> {
    return this.#run(this.#first, noClient, refuseMessages);
  }

  /** A server for a client: durable tools are known, and everything else is the SDK's. */
  async make(context: McpRequestContext): Promise<McpServer> {
    let made: McpServer | undefined;
    await this.#run(new FactoryRun(false, context), context, (server) => (made = server));
    if (made === undefined)
      throw new HoldfastError("internal", "The function given to durable() returned no server.");
    return made;
  }

  #run(
    run: FactoryRun,
    context: McpRequestContext,
    onMade: (server: McpServer) => void,
  ): void | Promise<void> {
    const end = (server: McpServer): void => {
      assertMade(server, "durable()");
      if (!(server instanceof McpServer)) throw lowLevel();
      if (server === this.#made) throw sameServer();
      this.#made ??= server;
      run.end(this.#first);
      onMade(server);
    };
    const register = (registration: Registration): RegisteredTool => {
      const left = run.add(registration.name);
      return this.#of(registration, run).reference(run, left);
    };
    const made = registering({ register }, () => this.#factory(context));
    return made instanceof McpServer || !isThenable(made) ? end(made) : Promise.resolve(made).then(end);
  }

  #of(registration: Registration, run: FactoryRun): RegisteredDurableTool {
    const { name } = registration;
    const known = this.#registered.get(name);
    if (known !== undefined) return known;
    if (!run.isFirst) throw wrongTool(name, onlyLater);
    const registered = new RegisteredDurableTool(this.#tasks, registration);
    this.#registered.set(name, registered);
    return registered;
  }
}

/** As a promise of another realm or library is. */
function isThenable(made: McpServer | PromiseLike<McpServer>): made is PromiseLike<McpServer> {
  return typeof made === "object" && made !== null && "then" in made && typeof made.then === "function";
}

/** Handlers may have it in their closures. The SDK's error would say that it is not connected, or that its client lacks capabilities. */
function refuseMessages({ server }: McpServer): void {
  const refuse = (): Promise<never> => {
    const refused = Promise.reject(
      new HoldfastError(
        "no_request",
        "The McpServer of a durable tool's handler is not connected to a client. To ask the client or report progress, use ctx, the handler's last argument.",
      ),
    );
    refused.catch(() => undefined); // the handler may leave it alone
    return refused;
  };
  const messages = { request: refuse, notification: refuse, elicitInput: refuse, createMessage: refuse };
  Object.assign(server, { ...messages, listRoots: refuse, ping: refuse });
}

function lowLevel(): HoldfastError {
  return new HoldfastError(
    "configuration",
    "The function given to durable() returned a low-level Server, which registers no tools. Return a McpServer, or use tasks.tool() and tasks.server().",
  );
}

const onlyLater =
  "was not registered when the function given to durable() first ran, before any client connected. Tools with task belong to the process: register all of them each time the function is called, whoever the client is";
