import type { McpServer, McpRequestContext, Server, ServerCapabilities } from "@modelcontextprotocol/server";
import type { Registry } from "../runtime/tool/registry.ts";
import type { Tool } from "../runtime/tool/tool.ts";
import { HoldfastError } from "../task/fault.ts";
import type { OnError } from "./faults.ts";
import { assertMade, assertMakesServers } from "./made-server.ts";
import { LowLevelServer } from "./low-level-server.ts";
import type { PlainOwner } from "./plain/plain-call.ts";
import type { PlainPolicies } from "./plain/plain-policies.ts";
import type { ListChanges } from "./tool-list/list-changes.ts";
import type { Streams } from "./streams.ts";
import { ServedTools } from "./tool-list/served-tools.ts";
import { neverReached, ToolForms, unchecked } from "./tool-list/tool-forms.ts";

/**
 * Creates your own server: for each session, for each connection on stdio, and for each request of 2026-07-28 over HTTP that is not about
 * tasks or a tool of `tasks.tool`. Do not refuse callers here; do it in `authenticate`. `Made` may also be a low-level `Server` of the SDK.
 */
export type ServerFactory<Made extends McpServer | Server = McpServer> = (
  context: McpRequestContext,
) => Made | Promise<Made>;

/** Names under `tasks/` that some generation has used: an author's server must have no handlers of its own for them. */
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

/** When and where a client can be notified of changes. */
export interface Listening {
  /** False until its handshake ends: before that, it has seen no list. */
  readonly isReady: () => boolean;
  /** The streams for notifications; while there is none, a notification waits. */
  readonly streams: Pick<Streams, "standaloneOpen" | "onStandalone">;
}

/** A server of the author's with our tools. */
export interface AuthorServer {
  readonly mcp: McpServer;
  /** Keeps the server's list of tools current and notifies its client of changes. Returns a function that stops this. */
  readonly follow: (client: Listening) => () => void;
}

/**
 * Makes the author's servers with our tools on them, so that the SDK lists them. Calls of these tools are answered before they reach a
 * server.
 */
export class AuthorServers {
  readonly #setup: AuthorServersSetup;
  readonly #forms = new ToolForms();
  /** Names of our tools that an author's servers also use, and that were reported. */
  readonly #taken = new Set<string>();

  constructor(setup: AuthorServersSetup) {
    this.#setup = setup;
  }

  /**
   * A server that is not connected yet. It knows `methods`, the task methods of its revision, so that the SDK validates requests for them
   * like its own. Throws what the factory throws, and `configuration` if its server uses a reserved name.
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

  /** Throws `configuration` for a factory that would serve no second client. */
  async check(): Promise<void> {
    await assertMakesServers(() => this.#setup.factory({ era: "modern" }));
  }

  /** Whether clients must repeat arguments of the tool in HTTP headers, which the SDK checks. */
  declaresHeaders(tool: Tool): boolean {
    return this.#forms.declareHeaders(tool);
  }

  #mcpServer(made: McpServer | Server | undefined): McpServer {
    assertMade(made, "tasks.server()");
    if ("server" in made) return made;
    return new LowLevelServer(made, (name) =>
      this.#report(
        name,
        new HoldfastError(
          "configuration",
          `Your server lists a tool "${name}", and tasks.tool() registers one with the same name. Rename one of them.`,
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
    let isPending = false;
    const notify = (): void => {
      isPending = !streams.standaloneOpen;
      if (!isPending) mcp.sendToolListChanged();
    };
    const endChanges = changes.subscribe(() => {
      if (isReady()) notify();
    });
    const endWait = streams.onStandalone(() => {
      if (isPending) notify();
    });
    return () => {
      endUpdates();
      endChanges();
      endWait();
    };
  }
}

/** Tools may be added while it is connected, when a server can no longer declare that it has tools. */
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
      const message = `Holdfast handles ${method} itself. Remove the handler for it from your server.`;
      throw new HoldfastError("configuration", message, { cause });
    }
  }
}
