import type { FetchLike } from "@modelcontextprotocol/client";
import { unlessAborted } from "../client/unless-aborted.ts";
import { nextTurn } from "../runtime/next-turn.ts";
import type { FetchHandler } from "../server/http/fetch-handler.ts";

/** A connection to one process. */
interface Line {
  readonly handler: Pick<FetchHandler, "fetch">;
  /** Aborts when the process dies. */
  readonly cut: AbortController;
}

/** Carries the requests of a test's client to the process that serves, without a socket. */
export class LocalNetwork {
  #line: Line | undefined;
  #connected = Promise.withResolvers<Line>();

  /** Requests go to this process from now on. */
  connect(handler: Pick<FetchHandler, "fetch">): void {
    const line = { handler, cut: new AbortController() };
    this.#line = line;
    this.#connected.resolve(line);
  }

  /** From now on, requests wait for the next process; those being answered continue. */
  disconnect(): void {
    if (this.#line !== undefined) this.#connected = Promise.withResolvers<Line>();
    this.#line = undefined;
  }

  /** The same, and breaks all connections after sent answers have arrived, as with a socket. */
  cut(): void {
    const line = this.#line;
    this.disconnect();
    void nextTurn().then(() => line?.cut.abort(broken()));
  }

  readonly fetch: FetchLike = async (url, init) => {
    const request = new Request(url, init);
    const { handler, cut } = await unlessAborted(this.#connected.promise, request.signal);
    const { body, status, headers } = await unlessAborted(handler.fetch(request), cut.signal);
    if (body === null) return new Response(null, { status, headers });
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    body.pipeTo(writable, { signal: cut.signal }).catch(() => undefined);
    return new Response(readable, { status, headers });
  };
}

/** The error of Node's `fetch` for a broken socket. */
function broken(): TypeError {
  return new TypeError("fetch failed", {
    cause: Object.assign(new Error("The server has crashed"), { code: "ECONNRESET" }),
  });
}
