import type { McpServer, McpRequestContext, ServerCapabilities } from "@modelcontextprotocol/server";
import type { Registry } from "../runtime/tool/registry.ts";
import type { Tool } from "../runtime/tool/tool.ts";
import { HoldfastError } from "../task/fault.ts";
import type { OnError } from "./faults.ts";
import type { PlainOwner } from "./plain/plain-call.ts";
import type { PlainPolicies } from "./plain/plain-policies.ts";
import type { ListChanges } from "./tool-list/list-changes.ts";
import { ServedTools } from "./tool-list/served-tools.ts";
import { neverReached, ToolForms, unchecked } from "./tool-list/tool-forms.ts";

/**
 * Creates the author's own server: for each session, for each connection on stdio, and for each request of 2026-07-28 over HTTP that
 * is not about tasks or a tool of `tasks.tool`. To refuse callers is for `authenticate`.
 */
export type ServerFactory = (context: McpRequestContext) => McpServer | Promise<McpServer>;

/** Names under `tasks/` that some generation has had: an author's server has no handlers of its own for them. */
const reservedMethods: readonly string[] = [
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
  "tasks/list",
  "tasks/result",
  "tasks/delete",
];

export interface AuthorServersSetup {
  readonly factory: ServerFactory;
  readonly registry: Registry;
  readonly policies: PlainPolicies;
  readonly changes: ListChanges;
  readonly onError: OnError;
}

/** A server of the author's with our tools. */
export interface AuthorServer {
  readonly mcp: McpServer;
  /** Keeps its list of tools as it is to be, and tells its client of changes once it `isReady`. Returns what ends that. */
  readonly follow: (isReady: () => boolean) => () => void;
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
    const mcp = await factory(context);
    assertMade(mcp);
    policies.assertNoCollision();
    if (capabilities !== undefined) mcp.server.registerCapabilities(capabilities);
    assertNothingReserved(mcp);
    for (const method of methods) {
      mcp.server.setRequestHandler(method, { params: unchecked }, async () => neverReached());
    }
    const tools = new ServedTools({ registry, policies, forms: this.#forms }, mcp, owner);
    tools.update((_, fault) => {
      throw fault;
    });
    declareTools(mcp);
    return { mcp, follow: (isReady) => this.#follow(mcp, tools, isReady) };
  }

  /** Whether clients have to repeat arguments of the tool in headers over HTTP, which the SDK checks. */
  declaresHeaders(tool: Tool): boolean {
    return this.#forms.declareHeaders(tool);
  }

  #follow(mcp: McpServer, tools: ServedTools, isReady: () => boolean): () => void {
    const { registry, changes, onError } = this.#setup;
    const update = (): void =>
      tools.update((name, fault) => {
        if (this.#taken.has(name)) return;
        this.#taken.add(name);
        onError(fault);
      });
    update(); // what has changed since it was made
    const endUpdates = registry.onChange(update);
    const endNews = changes.subscribe(() => {
      if (isReady()) mcp.sendToolListChanged();
    });
    return () => {
      endUpdates();
      endNews();
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
function assertMade(mcp: McpServer | undefined): asserts mcp is McpServer {
  if (mcp?.server !== undefined) return;
  throw new HoldfastError(
    "configuration",
    "The function given to tasks.server() returned no McpServer. Return a new one on each call: tasks.server(() => new McpServer({ … })).",
  );
}
