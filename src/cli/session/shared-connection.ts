import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";

/** A command that uses the connection. */
export type Peer = (message: JSONRPCMessage) => void;

interface SentRequest {
  readonly peer: Peer;
  /** As the command numbered it. */
  readonly request: JSONRPCRequest;
}

/**
 * One connection to a server, which several commands use, one after the other or at the same time. The server sees one client: requests and
 * their tokens of progress are numbered anew, the handshake is made once, and its answer is kept for later commands. What the server asks
 * goes to the command whose request is the newest, or waits for the next command; an answer to it comes once, whoever gives it.
 */
export class SharedConnection {
  readonly #send: Peer;
  readonly #peers = new Set<Peer>();
  readonly #sent = new Map<RequestId, SentRequest>();
  /** What the server asks, and the command that it went to. */
  readonly #asked = new Map<RequestId, { readonly request: JSONRPCRequest; peer: Peer | undefined }>();
  #lastId = 0;
  /** The result of the handshake. */
  #handshake: JsonObject | undefined;
  #isInitialized = false;

  /** `send` sends to the server. */
  constructor(send: Peer) {
    this.#send = send;
  }

  get isUsed(): boolean {
    return this.#peers.size > 0;
  }

  attach(peer: Peer): void {
    this.#peers.add(peer);
    this.#ask();
  }

  /** Calls of the command go on without it, as they do when a connection breaks; its other requests are cancelled. */
  detach(peer: Peer): void {
    this.#peers.delete(peer);
    for (const [id, sent] of this.#sent) {
      if (sent.peer !== peer) continue;
      this.#sent.delete(id);
      if (!["tools/call", "initialize"].includes(sent.request.method)) this.#cancel(id);
    }
    for (const asked of this.#asked.values()) if (asked.peer === peer) asked.peer = undefined;
    this.#ask();
  }

  fromPeer(peer: Peer, message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) return this.#request(peer, message);
    if (isJSONRPCResponse(message)) {
      if (message.id !== undefined && this.#asked.delete(message.id)) this.#send(message);
      return;
    }
    if (message.method === "notifications/initialized") {
      if (!this.#isInitialized) this.#send(message);
      this.#isInitialized = true;
    } else if (message.method === "notifications/cancelled") {
      const given = message.params?.["requestId"];
      const [id] = [...this.#sent].find(([, sent]) => sent.peer === peer && sent.request.id === given) ?? [];
      if (id !== undefined) this.#cancel(id, message.params);
    } else this.#send(message);
  }

  fromServer(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) {
      this.#asked.set(message.id, { request: message, peer: undefined });
      return this.#ask();
    }
    if (isJSONRPCResponse(message)) {
      const sent = message.id === undefined ? undefined : this.#sent.get(message.id);
      if (sent === undefined) return;
      this.#sent.delete(message.id ?? "");
      if (sent.request.method === "initialize" && "result" in message) this.#handshake = message.result;
      return sent.peer({ ...inResult(message, sent.request.id), id: sent.request.id });
    }
    const { params } = message;
    const token = params?.["progressToken"];
    const subscription = subscriptionIn(params);
    const owner = this.#sent.get((subscription?.id ?? token) as RequestId);
    if (owner !== undefined && subscription !== undefined) {
      const _meta = { ...params?._meta, [subscription.key]: owner.request.id };
      owner.peer({ ...message, params: { ...params, _meta } });
    } else if (owner !== undefined) {
      const progressToken = owner.request.params?._meta?.progressToken;
      owner.peer({ ...message, params: { ...params, progressToken } });
    } else for (const peer of this.#peers) peer(message);
  }

  #request(peer: Peer, request: JSONRPCRequest): void {
    if (request.method === "initialize" && this.#handshake !== undefined)
      return peer({ jsonrpc: "2.0", id: request.id, result: this.#handshake });
    const id = ++this.#lastId;
    this.#sent.set(id, { peer, request });
    const { params } = request;
    const hasToken = params?._meta?.progressToken !== undefined;
    const _meta = { ...params?._meta, progressToken: id };
    this.#send({ ...request, id, ...(hasToken && { params: { ...params, _meta } }) });
  }

  /** Passes on what nobody has been asked yet. */
  #ask(): void {
    const newest = [...this.#sent.values()].at(-1)?.peer ?? [...this.#peers].at(-1);
    if (newest === undefined) return;
    for (const asked of this.#asked.values()) {
      if (asked.peer !== undefined) continue;
      asked.peer = newest;
      newest(asked.request);
    }
  }

  #cancel(requestId: RequestId, params: JsonObject = {}): void {
    this.#sent.delete(requestId);
    this.#send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { ...params, requestId } });
  }
}

/** The answer that ends a subscription names it too. */
function inResult<Message extends JSONRPCMessage>(message: Message, id: RequestId): Message {
  if (!("result" in message)) return message;
  const { result } = message;
  const subscription = subscriptionIn(result);
  if (subscription === undefined) return message;
  return { ...message, result: { ...result, _meta: { ...result._meta, [subscription.key]: id } } };
}

/** Since 2026-07-28 what belongs to a subscription names the request that began it. */
function subscriptionIn(params: unknown): { readonly key: string; readonly id: unknown } | undefined {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  const found = isJsonObject(meta)
    ? Object.entries(meta).find(([key]) => key.endsWith("/subscriptionId"))
    : undefined;
  return found && { key: found[0], id: found[1] };
}
