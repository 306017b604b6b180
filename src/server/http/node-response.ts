import type { ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Principal } from "../per-principal.ts";
import { UnreadError, type Backlog, type UnreadBytes } from "./unread-bytes.ts";

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
   * Ends `to`, whose head was written, with `body`, of that many bytes; resolves when all was passed on, or its client disconnected. Not
   * async, which would hold the text for as long as that takes.
   */
  sendText(body: string, bytes: number, to: ServerResponse, holder: Principal): Promise<void> {
    if (body.length > pieceChars) return this.#begin(to, holder).writeAll(piecesOf(Buffer.from(body)));
    // One byte for each character is ASCII, which Node writes without looking at each.
    to.end(body, bytes === body.length ? "latin1" : "utf8");
    if (to.writableLength > 0) this.#begin(to, holder).ended();
    return Promise.resolve();
  }

  /** Sends all of `response`; resolves as `sendText` does, and rejects if the body does. */
  async send(response: Response, to: ServerResponse, holder: Principal): Promise<void> {
    to.statusCode = response.status;
    for (const [name, value] of response.headers) {
      // A framework may have set some before: only of these there are several.
      if (name === "set-cookie" || name === "vary") to.appendHeader(name, value);
      else if (name !== "connection") to.setHeader(name, value); // Node knows what the client asked for
    }
    const delivery = this.#begin(to, holder);
    const reader = response.body?.getReader();
    if (reader !== undefined) await relay(reader, to, delivery);
    delivery.end();
  }

  #begin(to: ServerResponse, holder: Principal): Delivery {
    // What the system has taken for a client that does not read is dropped with the rest.
    const backlog = this.#unread.open(holder, () => to.req.socket.resetAndDestroy());
    return new Delivery(to, backlog, this.#stallMs);
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

  async writeAll(pieces: Uint8Array[]): Promise<void> {
    await this.write(pieces);
    this.end();
  }

  /** Takes `pieces`, and resolves when more may come, or the client is gone. */
  async write(pieces: Uint8Array[]): Promise<void> {
    const to = this.#to;
    this.#ahead = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
    this.#count();
    for (let piece = pieces.shift(); piece !== undefined && !to.destroyed; piece = pieces.shift()) {
      this.#ahead -= piece.byteLength;
      if (!to.write(piece, this.#count)) await this.#drained();
    }
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
    for (let pieces = await nextPieces(reader); pieces !== undefined; pieces = await nextPieces(reader)) {
      await delivery.write(pieces);
    }
  } catch (error) {
    if (!(error instanceof UnreadError)) throw error;
  } finally {
    to.off("close", gone);
  }
}

/** In a function of its own, for a loop would hold the chunk until the client took the last of its pieces. */
async function nextPieces(reader: Reader): Promise<Uint8Array[] | undefined> {
  const { done, value } = await reader.read();
  return done ? undefined : piecesOf(value);
}

function piecesOf(chunk: Uint8Array): Uint8Array[] {
  if (chunk.byteLength <= pieceBytes) return [chunk];
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < chunk.byteLength; at += pieceBytes) {
    pieces.push(new Uint8Array(chunk.subarray(at, at + pieceBytes))); // copied, which slice() of a Buffer is not
  }
  return pieces;
}
