import {
  InMemoryTransport,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type McpRequestContext,
  McpServer,
  type MessageExtraInfo,
  ProtocolError,
  ProtocolErrorCode,
  type RequestId,
  Server,
  type ServerCapabilities,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import { HoldfastError } from "../task/fault.ts";
import { isJsonObject, type JsonObject } from "../generation/message.ts";
import type { Registry } from "../runtime/tool/registry.ts";
import type { Tool } from "../runtime/tool/tool.ts";
import type { OnError } from "./faults.ts";
import type { PlainOwner, PlainPolicies } from "./plain/plain-policies.ts";
import { type ListChanges, neverReached, ServedTools, ToolForms, unchecked } from "./tool-list.ts";
import type { Streams } from "./streams.ts";

/** The functions of ours that are given a factory, with the form in which to call each. */
const forms = {
  "tasks.server()": "tasks.server(() => new McpServer({ … }))",
  "durable()": "durable(() => new McpServer({ … }), { store })",
} as const;

export type GivenTo = keyof typeof forms;

/**
 * Throws `configuration` for what an author's factory must not return: no server, one of SDK v1, or one of another copy of the SDK, whose
 * classes are not those that Holdfast knows. Servers of both kinds start, and their calls fail or hang.
 */
export function assertMade(made: unknown, givenTo: GivenTo): asserts made is McpServer | Server {
  if (made instanceof McpServer || made instanceof Server) return;
  const factory = `The function given to ${givenTo}`;
  const low = isObject(made) && "server" in made ? made.server : made;
  if (!isObject(low) || !("setRequestHandler" in low)) {
    throw wrong(`${factory} returned no McpServer. Return a new one on each call: ${forms[givenTo]}.`);
  }
  if (!("getNegotiatedProtocolVersion" in low)) {
    throw wrong(
      `${factory} returned a server of SDK v1 (@modelcontextprotocol/sdk). Import McpServer from @modelcontextprotocol/server instead, or keep SDK v1 and use holdfast/sdk-v1.`,
    );
  }
  throw wrong(
    `${factory} returned a server from a different copy of @modelcontextprotocol/server than the one that Holdfast uses. Install only one copy (npm ls @modelcontextprotocol/server lists them), and load it with import, not with require: its CommonJS build is another copy.`,
  );
}

/**
 * Throws `configuration` if the factory is not one: it is called for each client, and a server serves one. A factory that fails when it is
 * first called, perhaps for want of a client, is not judged.
 */
async function assertMakesServers(make: () => unknown): Promise<void> {
  let first: unknown;
  try {
    first = await make();
  } catch (error) {
    if (error instanceof HoldfastError && error.message === sameServer().message) throw error; // by durable(), which has called it before
    return; // without a client there may be nothing that it could make
  }
  assertMade(first, "tasks.server()");
  let second: unknown;
  try {
    second = await make();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw wrong(
      `The function that makes your server failed when it was called again: ${reason}. ${anew}`,
      cause,
    );
  }
  if (second === first) throw sameServer();
}

export function sameServer(): HoldfastError {
  return wrong(`The function that makes your server returned the same server twice. ${anew}`);
}

const anew =
  "It is called for each client, and a server serves only one, so create a new McpServer on each call, inside the function.";

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function wrong(message: string, cause?: unknown): HoldfastError {
  return new HoldfastError("configuration", message, cause === undefined ? {} : { cause });
}

const listMethod = "tools/list";

/**
 * An author's low-level server in the form of an `McpServer`. It answers lists of tools itself, so ours are registered on a second server,
 * and added to its last page. `onTaken` is called with names of our tools that it also lists.
 */
class LowLevelServer extends McpServer {
  override readonly server: Server;
  /** Never connected to a client. */
  readonly ours = new McpServer({ name: "holdfast", version: "0" });
  readonly #onTaken: (name: string) => void;
  /** The latest list request: the second server answers one at a time. */
  #listed: Promise<unknown> = Promise.resolve();

  constructor(server: Server, onTaken: (name: string) => void) {
    super({ name: "", version: "" });
    this.server = server;
    this.#onTaken = onTaken;
    // Ours come and go.
    server.registerCapabilities({ tools: { listChanged: true } });
    declareSdkTools(server);
  }

  override async connect(wire: Transport): Promise<void> {
    const lists = new Set<RequestId>();
    const send = wire.send.bind(wire);
    const sendWithOurs = async (message: JSONRPCMessage, options?: TransportSendOptions) => {
      if ("method" in message || message.id === undefined || !lists.delete(message.id))
        return send(message, options);
      if (!isJSONRPCResultResponse(message)) return send(message, options);
      return send({ ...message, result: await this.#withOurs(message.result) }, options);
    };
    wire.send = sendWithOurs;
    await super.connect(wire);
    const { onmessage } = wire;
    const noteLists = (message: JSONRPCMessage, extra?: MessageExtraInfo): void => {
      if (isJSONRPCRequest(message) && message.method === listMethod) lists.add(message.id);
      if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
        const id = message.params?.["requestId"];
        if (typeof id === "string" || typeof id === "number") lists.delete(id);
      }
      onmessage?.(message, extra);
    };
    wire.onmessage = noteLists;
  }

  async #withOurs(page: JsonObject): Promise<JsonObject> {
    const { tools, nextCursor } = page;
    const ours = await this.#ours();
    const names = new Set(ours.map(({ name }) => name));
    const listed: unknown[] = Array.isArray(tools) ? tools : [];
    const theirs = listed.filter((tool) => !this.#isTaken(tool, names));
    return { ...page, tools: nextCursor === undefined ? [...theirs, ...ours] : theirs };
  }

  /** Calls with the name come to us. */
  #isTaken(tool: unknown, names: ReadonlySet<unknown>): boolean {
    if (!isJsonObject(tool) || !names.has(tool["name"])) return false;
    this.#onTaken(String(tool["name"]));
    return true;
  }

  async #ours(): Promise<readonly JsonObject[]> {
    const listed = this.#listed.then(() => askServer(this.ours, listMethod));
    this.#listed = listed.catch(() => undefined);
    const result = await listed;
    const tools = isJsonObject(result) ? result["tools"] : undefined;
    return Array.isArray(tools) ? tools.filter((tool: unknown) => isJsonObject(tool)) : [];
  }
}

/** A server without tools of its own has ours. */
function declareSdkTools(server: Server): void {
  const isFree = (method: string): boolean => {
    try {
      server.assertCanSetRequestHandler(method);
      return true;
    } catch {
      return false;
    }
  };
  if (isFree(listMethod)) server.setRequestHandler(listMethod, () => ({ tools: [] }));
  if (!isFree("tools/call")) return;
  server.setRequestHandler("tools/call", ({ params }) => {
    // As the SDK's McpServer says it.
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool ${params.name} not found`);
  });
}

/** The result of one request to a server that is not connected, which it is not afterwards either; undefined for an error. */
export async function askServer(mcp: McpServer, method: string, params: object = {}): Promise<unknown> {
  const [client, server] = InMemoryTransport.createLinkedPair();
  const { promise, resolve } = Promise.withResolvers<unknown>();
  client.onmessage = resolve;
  try {
    await mcp.connect(server);
    await client.send({ jsonrpc: "2.0", id: 1, method, params: { ...params } });
    const answer = await promise;
    return isJsonObject(answer) ? answer["result"] : undefined;
  } finally {
    await mcp.close();
  }
}

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
