import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from "@modelcontextprotocol/client";
import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { systemClock } from "../../client/clock.ts";
import { LineBuffer } from "../../client/transport/wire-messages.ts";
import { connectionTo } from "../../client/transport/server-connection.ts";
import type { Io } from "../io.ts";
import { type ExitCode, exitCodes } from "../errors.ts";
import { Records } from "../state/records.ts";
import type { Ending, SessionSetup } from "./session-messages.ts";

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

const maxAnswerBytes = 256 * 1024 ** 2;
const maxLogCharacters = 4_000;
/** How often to look whether the terminal is still there. */
const lookMs = 2_000;

/** Starts the server, and passes messages on between it and commands until the session ends. Says on stdout when it is ready, or why not. */
export async function keepSession({ stdin, stdout }: Io): Promise<ExitCode> {
  const setup = JSON.parse(await text(stdin)) as SessionSetup;
  stdout.on("error", () => undefined); // the command that started it does not wait for the end
  let log = "";
  const stderr = (piece: string): void => void (log = (log + piece).slice(-maxLogCharacters));
  const { transport, bounds } = connectionTo({ ...setup.target, stderr }, { maxAnswerBytes }, systemClock);
  const ended = Promise.withResolvers<void>();
  const shared = new SharedConnection((message) => void transport.send(message).catch(() => undefined));
  transport.onmessage = (message: JSONRPCMessage) => shared.fromServer(message);
  transport.onclose = () => ended.resolve();
  const sockets = new Set<Socket>();
  let idle = systemClock.deadline(setup.idleMs);
  let isOver = false;
  let isNew = true;
  const watchIdle = (): void => {
    idle.clear();
    if (isOver) return; // a timer would keep the process
    idle = systemClock.deadline(setup.idleMs);
    idle.signal.addEventListener("abort", () => void (shared.isUsed || ended.resolve()), { once: true });
  };
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => {
      sockets.delete(socket);
      // The command that opens it was ended in between: nobody would find it.
      if (isNew && !isRecorded(setup)) ended.resolve();
      isNew = false;
      watchIdle();
    });
    serveCommand(socket, setup.token, shared, ended.resolve);
  });
  try {
    await transport.start();
    bounds?.handshakeEnded();
    listener.listen(setup.socket);
    await once(listener, "listening");
    if (setup.folder !== null) await chmod(setup.socket, 0o600);
    watchIdle();
    stdout.write('{"ready":true}\n');
    const stop = new AbortController();
    if (setup.terminal !== null)
      void untilGone(setup.terminal, stop.signal).then(ended.resolve, () => undefined);
    process.once("SIGTERM", () => ended.resolve());
    await ended.promise;
    stop.abort();
  } catch (error) {
    stdout.write(`${JSON.stringify({ problem: error instanceof Error ? error.message : String(error) })}\n`);
  } finally {
    isOver = true;
    idle.clear();
    listener.close();
    await transport.close();
    await removeFiles(setup);
    // Whoever has asked for the end learns that all has ended.
    const last = `${JSON.stringify({ ended: log } satisfies Ending)}\n`;
    for (const socket of sockets) socket.end(last, () => void socket.destroy());
  }
  return exitCodes.done;
}

function serveCommand(socket: Socket, token: string, shared: SharedConnection, end: () => void): void {
  const peer = (message: JSONRPCMessage): void => void socket.write(`${JSON.stringify(message)}\n`);
  let isKnown = false;
  socket.on("error", () => undefined);
  const lines = new LineBuffer(maxAnswerBytes);
  const take = (line: string): void => {
    const message: unknown = JSON.parse(line);
    if (!isJsonObject(message) || !(isKnown || message["token"] === token)) throw new TypeError("no command");
    if (isKnown) return shared.fromPeer(peer, message as unknown as JSONRPCMessage);
    isKnown = true;
    if (message["close"] === true) end();
    else shared.attach(peer);
  };
  socket.on("data", (bytes) => {
    try {
      for (const line of lines.after(bytes)) take(line);
    } catch {
      socket.destroy(); // it is no command of ours
    }
  });
  socket.on("close", () => shared.detach(peer));
}

async function untilGone(pid: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    await systemClock.sleep(lookMs, signal);
    try {
      process.kill(pid, 0);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ESRCH") return;
    }
  }
}

/** Another session of that name may have been opened in the meantime. */
function isRecorded({ state, token }: SessionSetup): boolean {
  const address = new Records(state.file).get("session", state.name)?.["address"];
  return isJsonObject(address) && address["token"] === token;
}

async function removeFiles(setup: SessionSetup): Promise<void> {
  const { state, folder } = setup;
  try {
    if (isRecorded(setup)) new Records(state.file).remove("session", state.name);
  } catch {
    // The next command forgets it.
  }
  if (folder !== null) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
}
