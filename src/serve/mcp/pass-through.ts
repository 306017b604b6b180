import {
  type GetPromptResult,
  type InputRequiredResult,
  type LoggingLevel,
  type McpRequestContext,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type ServerCapabilities,
} from "@modelcontextprotocol/server";
import type { TaskClient } from "../../client/task-client.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import { isAtLeast } from "../../generation/message.ts";
import { isMadeOf, type SourceChanges } from "../source.ts";
import { relayed } from "./upstream-tools.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";

/** A server for one client, and the servers behind it. */
interface Front {
  readonly parts: PassThrough[];
  /** From which level on its client wants log messages; undefined before it has said so. */
  level?: LoggingLevel;
  /** The resources that its client follows, each with what ends that at the server behind it. */
  readonly subscribed: Map<string, () => unknown>;
}

const fronts = new WeakMap<McpServer, Front>();

/** What a server has besides tools, on the servers that are made for clients. Those of several servers are put together. */
export class PassThrough {
  readonly #connection: UpstreamConnection;
  readonly #prefix: string;
  readonly #changed: SourceChanges | undefined;
  /** Servers of connections that last, which can be told of changes. */
  readonly #told = new Set<McpServer>();

  constructor(connection: UpstreamConnection, prefix: string, changed: SourceChanges | undefined) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#changed = changed;
  }

  /** Adds it to a server that was made for one client. */
  attach(server: McpServer, { era }: McpRequestContext): void {
    const front: Front = fronts.get(server) ?? { parts: [], subscribed: new Map() };
    fronts.set(server, front);
    front.parts.push(this);
    handle(server, front, this.#has);
    if (era === "modern") return;
    this.#told.add(server);
    const { onclose } = server.server;
    server.server.onclose = () => {
      onclose?.();
      this.#told.delete(server);
      for (const end of front.subscribed.values()) end();
      front.subscribed.clear();
    };
  }

  /** Passes on what the server says of its own accord. */
  follow({ sdk }: TaskClient): void {
    const tell = (send: (server: McpServer, front: Front) => unknown) => (): void => {
      for (const server of this.#told) {
        const front = fronts.get(server);
        if (front === undefined) continue;
        void Promise.resolve(send(server, front)).catch(() => undefined); // its client has gone
      }
    };
    const resourcesChanged = tell(({ server }) => server.sendResourceListChanged());
    const promptsChanged = tell(({ server }) => server.sendPromptListChanged());
    sdk.setNotificationHandler("notifications/resources/list_changed", () => {
      resourcesChanged();
      this.#changed?.resourcesChanged();
    });
    sdk.setNotificationHandler("notifications/prompts/list_changed", () => {
      promptsChanged();
      this.#changed?.promptsChanged();
    });
    sdk.setNotificationHandler("notifications/resources/updated", ({ params: { uri } }) => {
      tell(({ server }, { subscribed }) =>
        subscribed.has(uri) ? server.sendResourceUpdated({ uri }) : undefined,
      )();
      this.#changed?.resourceUpdated(uri);
    });
    sdk.setNotificationHandler("notifications/message", ({ params }) =>
      tell(({ server }, { level }) =>
        level !== undefined && isAtLeast(level, params) ? server.sendLoggingMessage(params) : undefined,
      )(),
    );
    for (const server of this.#told) {
      const level = fronts.get(server)?.level;
      if (level !== undefined) void this.setLevel(level);
    }
  }

  get #has(): ServerCapabilities {
    return this.#connection.current?.sdk.getServerCapabilities() ?? {};
  }

  /** The connection, if there is one and the server has declared that it can do this. */
  clientWith(capability: "resources" | "prompts" | "completions" | "logging"): TaskClient | undefined {
    return this.#has[capability] === undefined ? undefined : this.#connection.current;
  }

  /** The server's own name of a prompt; undefined if it cannot be one of its own. */
  ownName(name: string): string | undefined {
    return name.startsWith(this.#prefix) ? name.slice(this.#prefix.length) : undefined;
  }

  shownName(name: string): string {
    return `${this.#prefix}${name}`;
  }

  async setLevel(level: LoggingLevel): Promise<void> {
    const client = this.clientWith("logging");
    if (client?.sdk.getProtocolEra() === "legacy")
      await client.sdk.setLoggingLevel(level).catch(() => undefined); // then it says what it likes
  }
}

/** Answers what the servers behind it can, once for each method. */
function handle(mcp: McpServer, front: Front, has: ServerCapabilities): void {
  const { server } = mcp;
  const { parts } = front;
  const isFree = (method: string): boolean => {
    try {
      server.assertCanSetRequestHandler(method);
      return true;
    } catch {
      return false; // the author's server answers it itself, or a server before this one
    }
  };
  if (has.resources !== undefined && isFree("resources/list")) {
    server.registerCapabilities({ resources: { listChanged: true, subscribe: true } });
    server.setRequestHandler("resources/list", async () => ({
      resources: await all(parts, "resources", async (client) => [
        ...(await client.listResources()).resources,
      ]),
    }));
    server.setRequestHandler("resources/templates/list", async () => ({
      resourceTemplates: await all(parts, "resources", async (client) => [
        ...(await client.listResourceTemplates()).resourceTemplates,
      ]),
    }));
    server.setRequestHandler("resources/read", async ({ params: { uri } }, context) =>
      ofResource<ReadResourceResult | InputRequiredResult>(parts, uri, async (client) =>
        isModern(client) ? relayed(client.sdk, "resources/read", { uri }, context) : client.readResource(uri),
      ),
    );
    server.setRequestHandler("resources/subscribe", async ({ params: { uri } }) => {
      if (front.subscribed.has(uri)) return {};
      front.subscribed.set(uri, await ofResource(parts, uri, async ({ sdk }) => subscribe(sdk, uri)));
      return {};
    });
    server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
      front.subscribed.get(uri)?.();
      front.subscribed.delete(uri);
      return {};
    });
  }
  if (has.prompts !== undefined && isFree("prompts/list")) {
    server.registerCapabilities({ prompts: { listChanged: true } });
    server.setRequestHandler("prompts/list", async () => ({
      prompts: await all(parts, "prompts", async (client, part) =>
        (await client.listPrompts()).prompts.map((prompt) => ({
          ...prompt,
          name: part.shownName(prompt.name),
        })),
      ),
    }));
    server.setRequestHandler("prompts/get", async ({ params: { name, arguments: args } }, context) =>
      ofPrompt<GetPromptResult | InputRequiredResult>(parts, name, async (client, own) =>
        isModern(client)
          ? relayed(client.sdk, "prompts/get", { name: own, ...(args && { arguments: args }) }, context)
          : client.getPrompt(own, args),
      ),
    );
  }
  if (has.completions !== undefined && isFree("completion/complete")) {
    server.registerCapabilities({ completions: {} });
    server.setRequestHandler("completion/complete", async ({ params }) => {
      const { ref } = params;
      return ref.type === "ref/prompt"
        ? ofPrompt(parts, ref.name, async ({ sdk }, name) =>
            sdk.complete({ ...params, ref: { ...ref, name } }),
          )
        : ofResource(parts, ref.uri, async ({ sdk }) => sdk.complete(params));
    });
  }
  if (has.logging !== undefined && isFree("logging/setLevel")) {
    server.registerCapabilities({ logging: {} });
    server.setRequestHandler("logging/setLevel", async ({ params }) => {
      front.level = params.level;
      for (const part of parts) await part.setLevel(params.level);
      return {};
    });
  }
}

function isModern({ sdk }: TaskClient): boolean {
  return sdk.getProtocolEra() === "modern";
}

/** Follows a resource, and returns what ends that. Before 2026-07-28 that is left to the end of the session: others may follow it, too. */
async function subscribe(sdk: TaskClient["sdk"], uri: string): Promise<() => unknown> {
  if (sdk.getProtocolEra() === "modern") {
    const subscription = await sdk.listen({ resourceSubscriptions: [uri] });
    const end = (): void => void subscription.close().catch(() => undefined);
    if (subscription.honoredFilter.resourceSubscriptions?.includes(uri) === true) return end;
    end();
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The server does not say when ${uri} changes`);
  }
  await sdk.subscribeResource({ uri });
  return () => undefined;
}

/** The items of all servers that answer. */
async function all<Item>(
  parts: readonly PassThrough[],
  capability: "resources" | "prompts",
  list: (client: TaskClient, part: PassThrough) => Promise<readonly Item[]>,
): Promise<Item[]> {
  const lists = parts.map(async (part) => {
    const client = part.clientWith(capability);
    return client === undefined ? [] : list(client, part).catch(() => []);
  });
  return (await Promise.all(lists)).flat();
}

/** Asks the server that lists the resource; if none does, each, since a server need not list what it has. */
async function ofResource<T>(
  parts: readonly PassThrough[],
  uri: string,
  ask: (client: TaskClient) => Promise<T>,
): Promise<T> {
  const clients = parts.map((part) => part.clientWith("resources")).filter((client) => client !== undefined);
  const [only] = clients;
  if (only !== undefined && clients.length === 1) return passingErrors(ask(only));
  let last: unknown = new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource ${uri} not found`, {
    uri,
  });
  const lists = await Promise.all(
    clients.map(async (client) => ((await isListedBy(client, uri)) ? client : undefined)),
  );
  const listing = lists.filter((client) => client !== undefined);
  for (const client of listing.length > 0 ? listing : clients) {
    try {
      return await passingErrors(ask(client));
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

async function isListedBy(client: TaskClient, uri: string): Promise<boolean> {
  try {
    const [{ resources }, { resourceTemplates }] = await Promise.all([
      client.listResources(),
      client.listResourceTemplates(),
    ]);
    // Roughly, since a server may list what would take an exact look years.
    const isTemplate = (template: string): boolean => isMadeOf(uri, template.split(/\{[^{}]*\}/u));
    return (
      resources.some((resource) => resource.uri === uri) ||
      resourceTemplates.some(({ uriTemplate }) => isTemplate(uriTemplate))
    );
  } catch {
    return false;
  }
}

/** Asks the server whose prompts have such names, that of the longest prefix first. */
async function ofPrompt<T>(
  parts: readonly PassThrough[],
  name: string,
  ask: (client: TaskClient, own: string) => Promise<T>,
): Promise<T> {
  let last: unknown = new ProtocolError(ProtocolErrorCode.InvalidParams, `Prompt ${name} not found`);
  const candidates = parts.flatMap((part) => {
    const own = part.ownName(name);
    const client = part.clientWith("prompts");
    return own === undefined || client === undefined ? [] : [{ own, client }];
  });
  for (const { own, client } of candidates.toSorted((a, b) => a.own.length - b.own.length)) {
    try {
      return await passingErrors(ask(client, own));
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

/** The server's own error is the answer. */
async function passingErrors<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof TaskClientError && error.error !== undefined)
      throw new ProtocolError(error.error.code, error.error.message, error.error.data);
    throw error;
  }
}
