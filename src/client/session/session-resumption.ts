import type { FetchLike, JSONRPCMessage } from "@modelcontextprotocol/client";
import { generationAt, wireGenerations } from "../../generation/generations.ts";
import { isJsonObject, type JsonObject, sameJson } from "../../generation/message.ts";
import { type ClientClock, randomName } from "../clock.ts";
import type { ConnectOptions } from "../connect-options.ts";
import type { HandleStore, ResumableSession } from "../handles/handle-store.ts";

/** How long the server may take to say whether it knows the session. */
const probeMs = 10_000;

/** The generations that a session can have with these options. */
function sessionGenerations({
  protocolVersion,
  generation,
}: Pick<ConnectOptions, "protocolVersion" | "generation">): readonly string[] {
  const all = Object.entries(wireGenerations).filter(([, { hasSessions }]) => hasSessions);
  const asked = protocolVersion === undefined ? generation : generationAt(protocolVersion, generation);
  return all.map(([name]) => name).filter((name) => asked === undefined || name === asked);
}

interface ResumptionOptions {
  readonly store: HandleStore;
  readonly session: ResumableSession;
  readonly clock: ClientClock;
}

/**
 * Resumes the session of an earlier client instead of starting a new one: answers the handshake of the SDK's client as the server did
 * then, if the server still knows the session. Only one client can use a session at a time, because it has only one standalone stream.
 * The client that removes the session from the store owns it.
 */
export class SessionResumption {
  readonly #options: ResumptionOptions;
  /** Ids must be unique in a session, and the SDK's client counts from 0. */
  readonly #idPrefix = `sdk-${randomName()}-`;
  #isDone = false;

  constructor(options: ResumptionOptions) {
    this.#options = options;
  }

  /** A fetch that answers the handshake, or returns 404 if the session cannot be resumed. */
  wrapFetch(fetchIt: FetchLike): FetchLike {
    return async (url, init) => {
      const message = this.#isDone ? undefined : messageIn(init);
      if (message?.["method"] === "notifications/initialized") {
        this.#isDone = true;
        return new Response(null, { status: 202 });
      }
      if (message?.["method"] !== "initialize") return fetchIt(url, init);
      const { id, capabilities, result } = this.#options.session;
      // The server still assumes the capabilities that the client declared then.
      const { params } = message;
      const declared = isJsonObject(params) ? params["capabilities"] : undefined;
      if (!sameJson(declared, capabilities)) return refused();
      const probed = await this.#probe(fetchIt, url, init);
      if (probed.status === 401 || probed.status === 403) return probed;
      await probed.body?.cancel();
      if (!probed.ok) {
        if (probed.status === 404 || probed.status === 400) await this.#claim();
        return refused();
      }
      if (!(await this.#claim())) return refused();
      const answer = { jsonrpc: "2.0", id: message["id"], result };
      return Response.json(answer, { headers: { "mcp-session-id": id } });
    };
  }

  rewriteOutgoing(message: JSONRPCMessage): JSONRPCMessage {
    if (!("method" in message)) return message;
    if ("id" in message) return { ...message, id: this.#idPrefix + String(message.id) };
    const requestId = message.params?.["requestId"];
    if (message.method !== "notifications/cancelled" || typeof requestId !== "number") return message;
    return { ...message, params: { ...message.params, requestId: this.#idPrefix + String(requestId) } };
  }

  rewriteIncoming(message: JSONRPCMessage): JSONRPCMessage {
    if ("method" in message || typeof message.id !== "string") return message;
    if (!message.id.startsWith(this.#idPrefix)) return message;
    return { ...message, id: Number(message.id.slice(this.#idPrefix.length)) };
  }

  /** Sends a ping in the session. */
  async #probe(fetchIt: FetchLike, ...[url, init]: Parameters<FetchLike>): Promise<Response> {
    const { session, clock } = this.#options;
    const headers = new Headers(init?.headers);
    headers.set("mcp-session-id", session.id);
    headers.set("mcp-protocol-version", String(session.result["protocolVersion"]));
    const body = JSON.stringify({ jsonrpc: "2.0", id: `${this.#idPrefix}ping`, method: "ping" });
    const deadline = clock.deadline(probeMs);
    const signal = init?.signal ? AbortSignal.any([init.signal, deadline.signal]) : deadline.signal;
    try {
      return await fetchIt(url, { ...init, headers, body, signal });
    } finally {
      deadline.clear();
    }
  }

  async #claim(): Promise<boolean> {
    const { store, session } = this.#options;
    return store.dropSession(session).catch(() => false);
  }
}

/** The session that a client of this server can resume. If the store fails, there is none. */
export async function findSession(
  store: HandleStore,
  { server, origin }: Pick<ResumableSession, "server" | "origin">,
  options: Pick<ConnectOptions, "protocolVersion" | "generation">,
): Promise<ResumableSession | undefined> {
  const { protocolVersion } = options;
  for (const generation of sessionGenerations(options)) {
    const found = await store.findSession(server, generation).catch(() => undefined);
    if (found === undefined || found.origin !== origin) continue;
    if (protocolVersion === undefined || found.result["protocolVersion"] === protocolVersion) return found;
  }
  return undefined;
}

function refused(): Response {
  return new Response(null, { status: 404 });
}

function messageIn(init: RequestInit | undefined): JsonObject | undefined {
  if (init?.method !== "POST" || typeof init.body !== "string") return undefined;
  const message: unknown = JSON.parse(init.body);
  return isJsonObject(message) ? message : undefined;
}
