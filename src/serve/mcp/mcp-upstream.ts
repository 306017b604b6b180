import type { ClientCapabilities } from "@modelcontextprotocol/client";
import { systemClock } from "../../client/clock.ts";
import type { ConnectOptions } from "../../client/connect-options.ts";
import { connect } from "../../client/connect.ts";
import type { TaskClient } from "../../client/task-client.ts";
import type { ServerTarget } from "../../client/transport/server-connection.ts";
import { unlessAborted } from "../../client/background-work.ts";
import { systemClock as serverClock } from "../../runtime/clock.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import { millisecondsOf } from "../../task/time.ts";
import { checked, type Finding, type OpenSource, type SourceHost, type ToolSource } from "../source.ts";
import { assertMcpOptions, type McpUpstreamOptions, type TokenExchange } from "./mcp-options.ts";
import { PassThrough } from "./pass-through.ts";
import { ServerAway, UpstreamConnection } from "./upstream-connection.ts";
import { UpstreamTools } from "./upstream-tools.ts";
import { isJsonObject } from "../../generation/message.ts";
import { definedOf } from "../../options/options.ts";
import { NonRetryableError } from "../../runtime/tool/tool-errors.ts";
import { askForToken, keptToken, Sender, type Token } from "../http/send.ts";

const grant = "urn:ietf:params:oauth:grant-type:token-exchange";
const accessToken = "urn:ietf:params:oauth:token-type:access_token";

/**
 * Exchanges the caller's token for one that is for the server (RFC 8693), and again before that ends. `credentials` gives what `authenticate` returned
 * for the call.
 */
export async function exchangedTokens(
  exchange: TokenExchange,
  credentials: () => Promise<unknown>,
): Promise<() => Promise<string>> {
  const { tokenEndpoint, clientId, clientSecret, audience, resource, scope } = exchange;
  const sender = new Sender([new URL(tokenEndpoint).hostname.replace(/^\[(.*)\]$/, "$1")]);
  const read = async (): Promise<Token> => {
    const form = new URLSearchParams({
      grant_type: grant,
      subject_token: subjectIn(await credentials()),
      subject_token_type: accessToken,
      requested_token_type: accessToken,
    });
    for (const [name, set] of Object.entries({ audience, resource, scope }))
      if (set !== undefined) form.set(name, set);
    return askForToken(sender, tokenEndpoint, form, { clientId, clientSecret });
  };
  return keptToken(await read(), read);
}

function subjectIn(credentials: unknown): string {
  const found = isJsonObject(credentials) ? credentials["token"] : credentials;
  if (typeof found === "string" && found !== "") return found;
  throw new NonRetryableError(
    "The caller has no token that could be exchanged: authenticate has to return it in credentials.",
  );
}

/** What callers can be asked: a client that cannot be asked something answers for its user with `cancel`. */
const relayed: ClientCapabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/**
 * Another MCP server, of any revision, as a source of tools: each becomes a durable tool, whose calls run at the server in the background, survive a
 * restart of either side, and put the server's questions to whoever waits. Resources, prompts, completions and log messages pass through. Throws
 * `configuration` for options that are wrong.
 *
 * ```ts
 * await serveTools(tasks, [
 *   mcpUpstream("files", { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "docs"] }),
 *   mcpUpstream("search", { url: "https://search.example/mcp", token: process.env.SEARCH_TOKEN, prefix: "search_" }),
 * ]);
 * ```
 */
export function mcpUpstream(name: string, options: McpUpstreamOptions): ToolSource {
  const what = `mcp ${name}`;
  assertMcpOptions(what, options);
  return {
    name: what,
    isListed: true,
    open: async (host) => OpenUpstream.open(name, options, host),
    check: async () => checked(what, async () => check(what, name, options)),
  };
}

class OpenUpstream implements OpenSource {
  readonly #name: string;
  readonly #options: McpUpstreamOptions;
  readonly #host: SourceHost;
  readonly #tools: UpstreamTools;
  readonly #connection: UpstreamConnection;
  /** Undefined where each caller has credentials of its own: it would answer all with those of the gateway. */
  readonly #passes: PassThrough | undefined;
  readonly #endRefreshes: () => void;
  /** Reads of the list, one after another. */
  #refreshing: Promise<void> = Promise.resolve();

  static async open(name: string, options: McpUpstreamOptions, host: SourceHost): Promise<OpenUpstream> {
    const opened = new OpenUpstream(name, options, host);
    const deadline = systemClock.deadline(openMs);
    try {
      await unlessAborted(opened.#connection.tried, deadline.signal);
      await unlessAborted(opened.#refreshing, deadline.signal);
    } catch {
      host.onError(
        new ServerAway(`The server ${name} has not listed its tools yet. They are served once it has.`),
      );
    } finally {
      deadline.clear();
    }
    return opened;
  }

  private constructor(name: string, options: McpUpstreamOptions, host: SourceHost) {
    this.#name = name;
    this.#options = options;
    this.#host = host;
    const isShared = options.connections !== "call" && options.exchange === undefined;
    this.#connection = new UpstreamConnection({
      name,
      target: targetOf(options),
      options: connectOptionsOf(name, options),
      onError: host.onError,
      onConnected: (client, signal) => this.#connected(client, signal),
    });
    this.#tools = new UpstreamTools(options, {
      forCall: async (task, use) => (isShared ? use(this.#connection) : this.#withOwn(task, use)),
      shared: isShared ? this.#connection : undefined,
    });
    if (options.exchange === undefined)
      this.#passes = new PassThrough(this.#connection, options.prefix ?? "", host.changed);
    this.#endRefreshes = serverClock.every(millisecondsOf(options.refreshMs ?? 300_000), () =>
      this.#refresh(),
    );
  }

  readonly attach = ((...client) => this.#passes?.attach(...client)) satisfies OpenSource["attach"];

  async close(): Promise<void> {
    this.#endRefreshes();
    await this.#connection.close();
  }

  #connected(client: TaskClient, signal: AbortSignal): void {
    this.#refresh();
    client.sdk.setNotificationHandler("notifications/tools/list_changed", () => this.#refresh());
    this.#passes?.follow(client);
    if (client.sdk.getProtocolEra() === "modern") void this.#listen(client, signal);
  }

  /** Since 2026-07-28 a server only says what changes to those who listen. */
  async #listen({ sdk }: TaskClient, signal: AbortSignal): Promise<void> {
    for (let pauseMs = 1_000; !signal.aborted; pauseMs = Math.min(2 * pauseMs, 60_000)) {
      try {
        const filter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
        const { closed } = await sdk.listen(filter, { signal });
        this.#refresh(); // what has changed in between
        if ((await closed) === "local") return;
      } catch {
        // It pushes nothing, or cannot be reached now.
      }
      await systemClock.sleep(pauseMs, signal).catch(() => undefined);
    }
  }

  #refresh(): void {
    this.#refreshing = this.#refreshing.then(() => this.#readTools());
  }

  async #readTools(): Promise<void> {
    const { current } = this.#connection;
    if (current === undefined) return;
    try {
      const { tools, problems } = await current.listTools();
      for (const problem of problems) this.#host.onError(new Error(`mcp ${this.#name}: ${problem}`));
      this.#host.setTools(this.#tools.of(tools));
    } catch (cause) {
      if (this.#connection.current !== current) return; // it is read again with the next connection
      this.#host.onError(new Error(`The server ${this.#name} does not list its tools`, { cause }));
    }
  }

  async #withOwn<T>(task: TaskContext, use: (upstream: UpstreamConnection) => Promise<T>): Promise<T> {
    const { exchange } = this.#options;
    const token = exchange && (await exchangedTokens(exchange, () => task.credentials()));
    const connection = new UpstreamConnection({
      name: this.#name,
      target: targetOf(this.#options),
      options: { ...connectOptionsOf(this.#name, this.#options), ...(token && { token }) },
      isForOneCall: true,
      onError: this.#host.onError,
    });
    try {
      return await use(connection);
    } finally {
      await connection.close();
    }
  }
}

function targetOf(options: McpUpstreamOptions): ServerTarget {
  const { command = "", url } = options;
  if (url !== undefined) return url;
  return { command, ...definedOf(options, ["args", "env", "cwd"]) };
}

/** References to tasks name the server by its name here, which stays when its address changes. */
function connectOptionsOf(name: string, options: McpUpstreamOptions): ConnectOptions {
  const { capabilities = relayed } = options;
  return {
    serverName: name,
    capabilities,
    ...definedOf(options, ["headers", "token", "protocolVersion"]),
  };
}

async function check(what: string, name: string, options: McpUpstreamOptions): Promise<readonly Finding[]> {
  const client = await connect(targetOf(options), {
    ...connectOptionsOf(name, options),
    signal: AbortSignal.timeout(checkMs),
  });
  try {
    const { tools, problems } = await client.listTools({ timeoutMs: checkMs });
    const revision = client.sdk.getNegotiatedProtocolVersion() ?? "unknown";
    const found = `answers, speaks ${revision}, and has ${tools.length} tools`;
    return [
      { check: what, works: true, detail: found },
      ...problems.map((detail) => ({ check: what, works: false, detail })),
    ];
  } finally {
    await client.close();
  }
}

/** How long a server may take to answer a check, in milliseconds. */
const checkMs = 20_000;

/** How long a start or a reload waits for the tools of a server, in milliseconds. */
const openMs = 15_000;
