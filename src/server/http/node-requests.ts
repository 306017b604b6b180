import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { OnError } from "../faults.ts";
import type { Arrival, Handler } from "./handler.ts";
import type { HttpSettings } from "./http-options.ts";
import { namesTwoHosts, nodeRequest, type ReceivedMessage } from "./http-request.ts";
import type { ParsedBody } from "./request-body.ts";
import type { OutgoingStream } from "./outgoing-stream.ts";
import { headersOf, isStreamAnswer, type JsonOutgoing, type Outgoing, responseOf } from "./exchange.ts";
import { refuse } from "./refusals.ts";
import { type Share, shareOf } from "../limits.ts";
import type { Backlog, UnreadBytes } from "./unread-bytes.ts";

export interface NodeRequestsSetup {
  readonly handler: Pick<Handler, "answer" | "headed" | "unread">;
  readonly limits: Pick<HttpSettings, "stallTimeoutMs" | "maxHeaders">;
  readonly onError: OnError;
  /** Told of each response before it is begun. */
  readonly onResponse: (response: ServerResponse) => void;
  /** What is refused before there is a request, in the form of the endpoint's other refusals. Default: as it is. */
  readonly inForm?: (refusal: Response) => Response | Promise<Response>;
}

/** What a framework did with a request before. */
export interface NodeRequestContext {
  readonly parsed?: ParsedBody | undefined;
  /** What its authentication left. */
  readonly auth?: unknown;
}

/** What took too long is not waited for, nor what would have been read at another time. */
const hangUpAfter: readonly number[] = [408, 503];

/** Clients send requests one after another on a connection. If a client sends this many at once, none is answered. */
const maxPipelined = 100;

/** The requests of a connection that wait until the one before is answered. */
type Waiting = (() => void)[];

/** Answers requests of `node:http`, and does not let their clients be slow, large or many without bounds. */
export class NodeRequests {
  readonly #setup: NodeRequestsSetup;
  readonly #sender: ResponseSender;
  /** By connection, as long as a request of it is being answered. */
  readonly #waiting = new WeakMap<Socket, Waiting>();

  constructor(setup: NodeRequestsSetup) {
    this.#setup = setup;
    this.#sender = new ResponseSender(setup.handler.unread, setup.limits.stallTimeoutMs);
  }

  handle(incoming: ReceivedMessage, outgoing: ServerResponse, context: NodeRequestContext = {}): void {
    // Its client is gone, or somebody else has answered.
    if (outgoing.destroyed || outgoing.headersSent) return;
    const { socket } = incoming;
    const waiting = this.#waiting.get(socket);
    if (waiting === undefined) {
      this.#waiting.set(socket, []);
      this.#begin(incoming, outgoing, context);
    } else if (waiting.push(() => this.#begin(incoming, outgoing, context)) >= maxPipelined) {
      waiting.length = 0;
      socket.destroy();
    }
  }

  /** One at a time on each connection: Node would keep the answers to later ones in memory, whether the client reads or not. */
  #begin(incoming: ReceivedMessage, outgoing: ServerResponse, context: NodeRequestContext): void {
    this.#goOnAfter(outgoing, incoming.socket);
    this.#setup.onResponse(outgoing);
    this.#respond(incoming, outgoing, context).catch((error: unknown) => {
      this.#setup.onError(error);
      outgoing.destroy();
    });
  }

  /** On its own, so that a stream that stays open keeps nothing of its request. */
  #goOnAfter(outgoing: ServerResponse, socket: Socket): void {
    outgoing.on("close", () => {
      const next = socket.destroyed ? undefined : this.#waiting.get(socket)?.shift();
      if (next === undefined) this.#waiting.delete(socket);
      else next();
    });
  }

  async #respond(
    incoming: ReceivedMessage,
    outgoing: ServerResponse,
    { parsed, auth }: NodeRequestContext,
  ): Promise<void> {
    const { handler, inForm = (refusal) => refusal } = this.#setup;
    const refused = this.#refusal(incoming);
    const request = refused === undefined ? nodeRequest(incoming, outgoing, parsed !== undefined) : undefined;
    const arrival: Arrival = { parsed, upstream: { auth, incoming } };
    const answer =
      request === undefined
        ? await inForm(refused ?? refuse(400, "Bad request"))
        : await handler.answer(request, arrival);
    const share = arrival.sender === undefined ? null : shareOf(arrival.sender);
    const headed = handler.headed(answer, incoming.headers.origin ?? null);
    const isLate = headed instanceof Response && hangUpAfter.includes(headed.status);
    if (!incoming.complete && isLate) outgoing.setHeader("Connection", "close");
    await this.#sender.send(headed, outgoing, share);
  }

  /** Of what no web `Request` could tell us any more. */
  #refusal(incoming: IncomingMessage): Response | undefined {
    const { httpVersionMajor, rawHeaders } = incoming;
    if (httpVersionMajor > 1) return refuse(505, "This server accepts only HTTP/1.1.");
    const { maxHeaders } = this.#setup.limits;
    // Node leaves out headers beyond its limit without a word, and one of them may be the Origin.
    if (rawHeaders.length / 2 > maxHeaders)
      return refuse(431, `The request has more than ${maxHeaders} headers.`);
    // Of some that are repeated it takes the first, and joins others.
    const repeated = repeatedHeader(rawHeaders);
    if (repeated !== undefined) return refuse(400, `The request has more than one ${repeated} header.`);
    return namesTwoHosts(incoming)
      ? refuse(400, "The request names one host in its target, and another in its Host header.")
      : undefined;
  }
}

/** Of these there is one. A proxy may act by another of several than the server does. */
const single = ["host", "authorization", "origin", "content-type", "mcp-session-id", "mcp-protocol-version"];

/** The name of a header that must not be repeated, but is; `raw` is as `node:http` gives it. */
function repeatedHeader(raw: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let place = 0; place < raw.length; place += 2) {
    const name = raw[place]?.toLowerCase() ?? "";
    if (seen.has(name)) return name;
    if (single.includes(name)) seen.add(name);
  }
  return undefined;
}

/** What is written at a time. Each piece has memory of its own, which is free once the client took it. */
const pieceBytes = 64 * 1024;

/** Characters that always fit into one piece. */
const pieceChars = Math.floor(pieceBytes / 3);

/**
 * Sends responses as fast as their clients take them, and counts what waits. A client that takes nothing for `stallMs`
 * milliseconds while something waits for it loses its connection.
 */
export class ResponseSender {
  readonly #unread: UnreadBytes;
  readonly #stallMs: number;

  constructor(unread: UnreadBytes, stallMs: number) {
    this.#unread = unread;
    this.#stallMs = stallMs;
  }

  /**
   * Sends all of `answer`; resolves when all was passed on, or its client disconnected, for a stream as soon as it has begun. Rejects if the
   * body of a response does.
   */
  send(answer: Outgoing, to: ServerResponse, holder: Share): Promise<void> {
    if (answer === undefined || answer instanceof Response)
      return this.#relay(responseOf(answer), to, holder);
    if (isStreamAnswer(answer)) {
      writeHead(answer.head, to);
      this.#begin(to, holder).relay(answer.stream);
      return Promise.resolve();
    }
    const { status, json } = answer;
    const headers = headersOf(answer);
    // Not as a list, which middleware that looks at headers takes for something else.
    if (to.hasHeader("vary")) writeHead({ status, headers: Object.entries(headers) }, to);
    else to.writeHead(status, headers);
    return this.#sendText(json, Number(headers["Content-Length"]), to, holder);
  }

  /** Ends `to`, whose head was written. */
  #sendText(body: JsonOutgoing["json"], bytes: number, to: ServerResponse, holder: Share): Promise<void> {
    if (typeof body !== "string") return this.#begin(to, holder).writeAll(body.pieces(), bytes);
    if (body.length > pieceChars) return this.#begin(to, holder).writeAll(encodedPieces(body), bytes);
    // One byte for each character is ASCII, which Node writes without looking at each.
    to.end(body, bytes === body.length ? "latin1" : "utf8");
    if (to.writableLength > 0) this.#begin(to, holder).ended();
    return Promise.resolve();
  }

  async #relay(response: Response, to: ServerResponse, holder: Share): Promise<void> {
    writeHead(response, to);
    const delivery = this.#begin(to, holder);
    const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
    if (reader !== undefined) await relay(reader, to, delivery);
    delivery.end();
  }

  #begin(to: ServerResponse, holder: Share): Delivery {
    // What the system has taken for a client that does not read is dropped with the rest.
    const backlog = this.#unread.open(holder, () => to.req.socket.resetAndDestroy());
    return new Delivery(to, backlog, this.#stallMs);
  }
}

interface Head {
  readonly status: number;
  readonly headers: Iterable<readonly [name: string, value: string]>;
}

function writeHead({ status, headers }: Head, to: ServerResponse): void {
  to.statusCode = status;
  for (const [name, value] of headers) {
    // A framework may have set some before: only of these there are several.
    if (/^(?:set-cookie|vary)$/i.test(name)) to.appendHeader(name, value);
    else if (name !== "connection") to.setHeader(name, value); // Node knows what the client asked for
  }
}

/** One response on its way to its client. */
class Delivery {
  readonly #to: ServerResponse;
  readonly #backlog: Backlog;
  readonly #stallMs: number;
  /** Bytes that are not written yet. */
  #ahead = 0;

  constructor(to: ServerResponse, backlog: Backlog, stallMs: number) {
    this.#to = to;
    this.#backlog = backlog;
    this.#stallMs = stallMs;
    to.once("close", () => backlog.end());
  }

  async writeAll(pieces: Iterable<Uint8Array>, bytes: number): Promise<void> {
    await this.write(pieces, bytes);
    this.end();
  }

  /** Takes `pieces` of that many bytes together, and resolves when more may come, or the client is gone. */
  async write(pieces: Iterable<Uint8Array>, bytes: number): Promise<void> {
    const to = this.#to;
    this.#ahead = bytes;
    this.#count();
    if (to.destroyed) return;
    for (const piece of pieces) {
      this.#ahead -= piece.byteLength;
      if (!to.write(piece, this.#count)) await this.#drained();
      if (to.destroyed) return;
    }
  }

  /** Writes `stream` until it ends, as fast as the client reads. */
  relay(stream: OutgoingStream): void {
    const to = this.#to;
    to.once("close", stream.abandon);
    stream.whenEnded((end) => {
      if (end === "abandoned") to.destroy();
    });
    let isBusy = false;
    const next = (): void => {
      const chunk = isBusy ? undefined : stream.take();
      if (chunk !== undefined) {
        isBusy = true;
        void this.write(piecesOf(chunk), chunk.byteLength).then(written);
      } else if (!isBusy && !stream.isOpen) this.end();
    };
    const written = (): void => {
      isBusy = false;
      next();
    };
    stream.onReadable(next);
    if (to.destroyed) stream.abandon();
  }

  end(): void {
    if (this.#to.destroyed) return;
    this.#to.end();
    this.ended();
  }

  /** All was written, and the rest of it may still wait. */
  ended(): void {
    const to = this.#to;
    this.#count();
    if (to.writableLength === 0) return;
    const socket = this.#socket;
    socket?.setTimeout(this.#stallMs);
    // Before Node sets the time that the connection may stay open.
    to.prependOnceListener("finish", () => socket?.setTimeout(0));
  }

  /** Undefined if the client disconnected, or if a test injected the request, which has no connection. */
  get #socket(): Socket | undefined {
    const { socket } = this.#to;
    return socket instanceof Socket ? socket : undefined;
  }

  readonly #count = (): void => this.#backlog.hold(this.#ahead + this.#to.writableLength);

  /** Resolves when the client has read all that was written, or disconnected. */
  #drained(): Promise<void> {
    const to = this.#to;
    const socket = this.#socket;
    return new Promise((resolve) => {
      const end = (): void => {
        to.off("drain", end).off("close", end);
        socket?.setTimeout(0);
        resolve();
      };
      to.on("drain", end).on("close", end);
      // As long as some of it goes out, the socket does not count as idle; then node destroys it.
      socket?.setTimeout(this.#stallMs);
      if (to.destroyed) end();
    });
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function relay(reader: Reader, to: ServerResponse, delivery: Delivery): Promise<void> {
  // Ends the wait for the next chunk, too, which may never come.
  const gone = (): void => void reader.cancel().catch(() => undefined);
  to.once("close", gone);
  if (to.destroyed) gone();
  // A reader that is not reading would notice only later that nothing more comes.
  reader.closed.catch(() => to.destroy());
  try {
    for (let { value } = await reader.read(); value !== undefined; { value } = await reader.read()) {
      await delivery.write(piecesOf(value), value.byteLength);
    }
  } finally {
    to.off("close", gone);
  }
}

/** The pieces of a text, each made when the client has taken the one before: a client that reads nothing costs no copy. */
function* encodedPieces(text: string): Generator<Uint8Array> {
  for (let from = 0; from < text.length;) {
    let end = Math.min(from + pieceChars, text.length);
    if (isHighSurrogate(text.charCodeAt(end - 1)) && end < text.length) end -= 1;
    yield Buffer.from(text.slice(from, end));
    from = end;
  }
}

/** The first half of a character that takes two. */
function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

function* piecesOf(chunk: Uint8Array): Generator<Uint8Array> {
  if (chunk.byteLength <= pieceBytes) {
    yield chunk;
    return;
  }
  for (let at = 0; at < chunk.byteLength; at += pieceBytes) {
    yield new Uint8Array(chunk.subarray(at, at + pieceBytes)); // copied, which slice() of a Buffer is not
  }
}
