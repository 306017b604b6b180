import { McpServer, type McpRequestContext, type RegisteredTool } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import type { ServerFactory } from "../author-server.ts";
import type { Tasks } from "../tasks.ts";
import { FactoryRun } from "./factory-run.ts";
import { RegisteredDurableTool } from "./registered-tool.ts";
import { registering, type Registration } from "./registrations.ts";
import { wrongTool } from "./task-settings.ts";

/** The client that the first run of the factory gets. */
const noClient: McpRequestContext = { era: "modern" };

/** The durable tools that an author's factory registers: those of its first run, which has no client, are those of the process. */
export class DurableTools {
  readonly #factory: ServerFactory;
  readonly #tasks: Pick<Tasks, "tool">;
  readonly #registered = new Map<string, RegisteredDurableTool>();
  readonly #first = new FactoryRun(true, noClient);

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
      assertOurs(server);
      run.end(this.#first);
      onMade(server);
    };
    const register = (registration: Registration): RegisteredTool => {
      const left = run.add(registration.name);
      return this.#of(registration, run).reference(run, left);
    };
    const made = registering({ register }, () => this.#factory(context));
    return made instanceof Promise ? made.then(end) : end(made);
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

/** A server of another copy of the SDK drops `task` without a word. */
function assertOurs(server: unknown): asserts server is McpServer {
  if (server instanceof McpServer) return;
  const isServer = typeof server === "object" && server !== null && "registerTool" in server;
  throw new HoldfastError(
    "configuration",
    isServer
      ? "The function given to durable() returned an McpServer from a different copy of @modelcontextprotocol/server than the one that Holdfast uses. Install only one copy (npm ls @modelcontextprotocol/server lists them), and load it with import, not require."
      : "The function given to durable() returned no McpServer. Return a new one on each call: durable(() => new McpServer({ … }), { store }).",
  );
}

const onlyLater =
  "was not registered when the function given to durable() first ran, before any client connected. Tools with task belong to the process: register all of them each time the function is called, whoever the client is";
