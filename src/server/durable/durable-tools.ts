import { McpServer, type McpRequestContext, type RegisteredTool } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import type { ServerFactory } from "../author-server.ts";
import type { Tasks } from "../tasks.ts";
import { registering, registerPlainly, type Registrar, type Registration } from "./registrations.ts";
import type { TaskSettings } from "./register-tool.ts";
import { toolHandler } from "./tool-handler.ts";

/** The durable tools that an author's factory registers: those of its first run, which has no client, are those of the process. */
export class DurableTools {
  readonly #factory: ServerFactory;
  readonly #tasks: Pick<Tasks, "tool">;
  readonly #registered = new Map<string, RegisteredTool>();
  /** Never connected: the SDK makes of a registration here what it would make of it anywhere. */
  readonly #scratch = new McpServer({ name: "holdfast", version: "0" });

  constructor(factory: ServerFactory, tasks: Pick<Tasks, "tool">) {
    this.#factory = factory;
    this.#tasks = tasks;
  }

  /** Runs the factory for its tools; throws, or rejects, with what it throws, and with `configuration`. */
  collect(): void | Promise<void> {
    return this.#run({ era: "modern" }, (registration) => this.#add(registration), refuseMessages);
  }

  /** A server for a client: durable tools are known, and everything else is the SDK's. */
  async make(context: McpRequestContext): Promise<McpServer> {
    const seen = new Set<string>();
    let made: McpServer | undefined;
    await this.#run(
      context,
      ({ name }) => {
        const registered = this.#registered.get(name);
        if (registered === undefined) throw onlyLater(name);
        if (seen.has(name)) throw wrong(name, "is registered twice");
        seen.add(name);
        return registered;
      },
      (server) => (made = server),
    );
    const missing = [...this.#registered.keys()].find((name) => !seen.has(name));
    if (missing !== undefined) throw onlyFirst(missing);
    if (made === undefined) throw new HoldfastError("internal", "The factory has made no server.");
    return made;
  }

  #run(
    context: McpRequestContext,
    register: Registrar["register"],
    onMade: (server: McpServer) => void,
  ): void | Promise<void> {
    let isOver = false;
    const registrar: Registrar = {
      register(registration) {
        if (isOver) throw tooLate(registration.name);
        return register(registration);
      },
    };
    const end = (server: McpServer): void => {
      isOver = true;
      assertOurs(server);
      onMade(server);
    };
    const made = registering(registrar, () => this.#factory(context));
    return made instanceof Promise ? made.then(end) : end(made);
  }

  #add(registration: Registration): RegisteredTool {
    const { name, config } = registration;
    const { mode = "optional", ...settings } = settingsOf(name, config.task);
    if (config["scopeChallenge"] !== undefined) {
      throw wrong(
        name,
        "has a scopeChallenge, which is not asked for tasks: give its scopes to oauthResource",
      );
    }
    const registered = registerPlainly(this.#scratch, registration);
    const { title, description, inputSchema, outputSchema, annotations, icons, _meta } = registered;
    const { onCrash, park, retry } = settings;
    const isRepeatable = annotations?.idempotentHint === true || annotations?.readOnlyHint === true;
    const mayRepeat = isRepeatable || onCrash === "resume" || park === true || retry !== undefined;
    this.#tasks.tool(
      name,
      {
        ...(title !== undefined && { title }),
        ...(description !== undefined && { description }),
        ...(inputSchema !== undefined && { inputSchema }),
        ...(outputSchema !== undefined && { outputSchema }),
        ...(annotations !== undefined && { annotations }),
        ...(icons !== undefined && { icons }),
        ...(_meta !== undefined && { _meta }),
        park: false, // a handler that was not written for it does not run again where nothing has failed
        ...settings,
        task: mode,
      },
      toolHandler(name, (args, ctx) => registered.executor(args, ctx), mayRepeat),
    );
    const refuse = (): never => {
      throw wrong(name, "is the same for all clients: it cannot be changed for one of them");
    };
    Object.assign(registered, { update: refuse, remove: refuse, enable: refuse, disable: refuse });
    this.#registered.set(name, registered);
    return registered;
  }
}

/** Handlers may have it in their closures: the SDK would say that it is not connected, or that its client can do nothing. */
function refuseMessages({ server }: McpServer): void {
  const refuse = (): Promise<never> => {
    const refused = Promise.reject(
      new HoldfastError(
        "no_request",
        "The server around the handler of a durable tool has no client: ask and report through ctx, which is the handler's last argument.",
      ),
    );
    refused.catch(() => undefined); // the handler may leave it alone
    return refused;
  };
  const messages = { request: refuse, notification: refuse, elicitInput: refuse, createMessage: refuse };
  Object.assign(server, { ...messages, listRoots: refuse, ping: refuse });
}

const settingNames: OptionNames<TaskSettings> = {
  mode: true,
  requires: true,
  onCrash: true,
  park: true,
  promoteAfterMs: true,
  immediateResponse: true,
  plain: true,
  plainDeadlineMs: true,
  joinCalls: true,
  concurrency: true,
  priority: true,
  ttlMs: true,
  pollIntervalMs: true,
  maxRunMs: true,
  inputTimeoutMs: true,
  timeoutMs: true,
  version: true,
  retry: true,
};

/** In JavaScript anything can be given. */
function settingsOf(name: string, task: unknown): TaskSettings {
  const given = typeof task === "object" && task !== null && !Array.isArray(task) ? task : { mode: task };
  assertOptionNames(`task of tool "${name}"`, given, settingNames);
  const settings: TaskSettings = given;
  const { mode = "optional" } = settings;
  if (mode === "optional" || mode === "required") return settings;
  throw wrong(
    name,
    `has the wrong task: "optional", "required" or an object of options, not ${JSON.stringify(mode)}; leave it out of a tool that is never a task`,
  );
}

/** A server of another copy of the SDK drops `task` without a word. */
function assertOurs(server: unknown): asserts server is McpServer {
  if (server instanceof McpServer) return;
  const isServer = typeof server === "object" && server !== null && "registerTool" in server;
  throw new HoldfastError(
    "configuration",
    isServer
      ? "The function given to durable() returned an McpServer of another copy of @modelcontextprotocol/server than the one that Holdfast uses: have one copy of it (npm ls @modelcontextprotocol/server), and import it, not require it."
      : "The function given to durable() returned no McpServer. Return a new one on each call: durable(() => new McpServer({ … }), { store }).",
  );
}

function onlyLater(name: string): HoldfastError {
  return wrong(
    name,
    "was not registered when the function given to durable() first ran, without a client. Tools with task belong to the process: register all of them on each call of the function, whoever the client is",
  );
}

function onlyFirst(name: string): HoldfastError {
  return wrong(
    name,
    "was not registered for this client. Tools with task belong to the process, and any client can call them: register all of them on each call of the function given to durable(), and say with authenticate who may call",
  );
}

function tooLate(name: string): HoldfastError {
  return wrong(
    name,
    "was registered after the function given to durable() had ended: await what it waits for",
  );
}

function wrong(name: string, problem: string): HoldfastError {
  return new HoldfastError("configuration", `Tool "${name}" ${problem}.`);
}
