import type { McpServer, McpRequestContext, Server, ServerCapabilities } from "@modelcontextprotocol/server";
import type { Registry } from "../runtime/tool/registry.ts";
import type { Tool } from "../runtime/tool/tool.ts";
import { HoldfastError } from "../task/fault.ts";
import type { OnError } from "./faults.ts";
import { LowLevelServer } from "./low-level-server.ts";
import type { PlainOwner } from "./plain/plain-call.ts";
import type { PlainPolicies } from "./plain/plain-policies.ts";
import type { ListChanges } from "./tool-list/list-changes.ts";
import type { Streams } from "./streams.ts";
import { ServedTools } from "./tool-list/served-tools.ts";
import { neverReached, ToolForms, unchecked } from "./tool-list/tool-forms.ts";

/**
 * Creates the author's own server: for each session, for each connection on stdio, and for each request of 2026-07-28 over HTTP that
 * is not about tasks or a tool of `tasks.tool`. To refuse callers is for `authenticate`. A low-level `Server` of the SDK may be `Made`, too.
 */
export type ServerFactory<Made extends McpServer | Server = McpServer> = (
  context: McpRequestContext,
) => Made | Promise<Made>;

/** Names under `tasks/` that some generation has had: an author's server has no handlers of its own for them. */
export const reservedMethods: readonly string[] = [
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
  "tasks/list",
  "tasks/result",
  "tasks/delete",
];

export interface AuthorServersSetup {
  readonly factory: ServerFactory<McpServer | Server>;
  readonly registry: Registry;
  readonly policies: PlainPolicies;
  readonly changes: ListChanges;
  readonly onError: OnError;
}

/** When a client can be told of changes. */
export interface Listening {
  /** False before the end of its handshake: it has seen no list then. */
  readonly isReady: () => boolean;
  /** Where it can be told; until there is a stream for it, the news waits. */
  readonly streams: Pick<Streams, "standaloneOpen" | "onStandalone">;
}

/** A server of the author's with our tools. */
export interface AuthorServer {
  readonly mcp: McpServer;
  /** Keeps its list of tools as it is to be, and tells its client of changes. Returns what ends that. */
  readonly follow: (client: Listening) => () => void;
}

/**
 * Makes the author's servers, with our tools on them for the SDK to list. Calls of these tools are answered before they
 * reach a server.
 */
export class AuthorServers {
  readonly #setup: AuthorServersSetup;
  readonly #forms = new ToolForms();
  /** Names of ours that servers of the author's have taken, and that were reported. */
  readonly #taken = new Set<string>();

  constructor(setup: AuthorServersSetup) {
    this.#setup = setup;
  }

  /**
   * A server that is not connected yet. It knows `methods`, those about tasks in its revision, so that the SDK checks requests
   * for them as it checks its own. Throws what the factory throws, and `configuration` if its server uses a reserved name.
   */
  async make(
    context: McpRequestContext,
    owner: PlainOwner,
    methods: readonly string[],
    capabilities?: ServerCapabilities,
  ): Promise<AuthorServer> {
    const { factory, registry, policies } = this.#setup;
    const mcp = this.#mcpServer(await factory(context));
    policies.assertNoCollision();
    if (capabilities !== undefined) mcp.server.registerCapabilities(capabilities);
    assertNothingReserved(mcp);
    for (const method of methods) {
      mcp.server.setRequestHandler(method, { params: unchecked }, async () => neverReached());
    }
    const list = mcp instanceof LowLevelServer ? mcp.ours : mcp;
    const tools = new ServedTools({ registry, policies, forms: this.#forms }, list, owner);
    tools.update((_, fault) => {
      throw fault;
    });
    declareTools(mcp);
    return { mcp, follow: (client) => this.#follow(mcp, tools, client) };
  }

  /** Whether clients have to repeat arguments of the tool in headers over HTTP, which the SDK checks. */
  declaresHeaders(tool: Tool): boolean {
    return this.#forms.declareHeaders(tool);
  }

  #mcpServer(made: McpServer | Server | undefined): McpServer {
    assertMade(made);
    if ("server" in made) return made;
    return new LowLevelServer(made, (name) =>
      this.#report(
        name,
        new HoldfastError(
          "configuration",
          `Your server lists a tool "${name}", which is one of tasks.tool. Rename one of them.`,
        ),
      ),
    );
  }

  /** Once for each name. */
  #report(name: string, fault: unknown): void {
    if (this.#taken.has(name)) return;
    this.#taken.add(name);
    this.#setup.onError(fault);
  }

  #follow(mcp: McpServer, tools: ServedTools, { isReady, streams }: Listening): () => void {
    const { registry, changes } = this.#setup;
    const update = (): void => tools.update((name, fault) => this.#report(name, fault));
    update(); // what has changed since it was made
    const endUpdates = registry.onChange(update);
    let isUntold = false;
    const tell = (): void => {
      isUntold = !streams.standaloneOpen;
      if (!isUntold) mcp.sendToolListChanged();
    };
    const endNews = changes.subscribe(() => {
      if (isReady()) tell();
    });
    const endWait = streams.onStandalone(() => {
      if (isUntold) tell();
    });
    return () => {
      endUpdates();
      endNews();
      endWait();
    };
  }
}

/** Tools may come while it is connected, when a server cannot declare any more that it has some. */
function declareTools(mcp: McpServer): void {
  if (!serves(mcp, "tools/list")) mcp.registerTool("none", {}, neverReached).remove();
}

/** Whether the server answers requests for `method`. */
export function serves({ server }: McpServer, method: string): boolean {
  try {
    server.assertCanSetRequestHandler(method);
    return false;
  } catch {
    return true; // it has a handler
  }
}

/** The SDK would replace an author's handler silently, or serve one that other versions will not. */
function assertNothingReserved({ server }: McpServer): void {
  for (const method of reservedMethods) {
    try {
      server.assertCanSetRequestHandler(method);
    } catch (cause) {
      const message = `${method} belongs to tasks: leave its handler out of your server.`;
      throw new HoldfastError("configuration", message, { cause });
    }
  }
}

/** In JavaScript, a factory may lack its `return`. */
function assertMade(made: McpServer | Server | undefined): asserts made is McpServer | Server {
  if (made !== undefined && made !== null && ("server" in made || "setRequestHandler" in made)) return;
  throw new HoldfastError(
    "configuration",
    "The function given to tasks.server() returned no McpServer. Return a new one on each call: tasks.server(() => new McpServer({ … })).",
  );
}
