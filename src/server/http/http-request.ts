import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * A request, however it arrived: a web `Request` is one, and so is one of `node:http`. Everything before a handler works on this alone, so
 * that each rule is there once. These always hold:
 *
 * - A request of `node:http` costs no `Request`, `Headers`, signal or stream, unless something asks for it: `webOf` makes the `Request`, once.
 * - Its body is received as it is read: the headers alone identify the sender, and strangers get no memory.
 */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  /** Names are in lower case. */
  readonly headers: Pick<Headers, "get" | "has">;
  /** Aborts when the client disconnects before it has its answer. */
  readonly signal: AbortSignal;
  readonly body: ReadableStream<Uint8Array> | null;
  /** Whether somebody has read the body. */
  readonly bodyUsed: boolean;
  /** All of a small body; rejects if the client leaves before. */
  arrayBuffer(): Promise<ArrayBuffer | Uint8Array>;
}

/** The request for what speaks the web's: an author's function, or the SDK. */
export function webOf(request: HttpRequest): Request {
  return request instanceof NodeRequest ? request.web : (request as Request);
}

/** The path of its URL, complete and normalized. */
export function pathOf(request: Pick<HttpRequest, "url">): string {
  if (request instanceof NodeRequest) return request.pathname;
  const { url } = request;
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.slice(start).search(/[?#]/);
  return end === -1 ? url.slice(start) : url.slice(start, start + end);
}

/** Whether its client has left without its answer. */
export function isGone(request: HttpRequest): boolean {
  return request instanceof NodeRequest ? request.isGone : request.signal.aborted;
}

/** What has to abandon a stream for the request; over `node:http`, whatever sends the stream does. */
export function streamSignal(request: HttpRequest): AbortSignal | undefined {
  return request instanceof NodeRequest ? undefined : request.signal;
}

/** Something that is answered to a client, and learns what becomes of the answer. */
export interface Answering {
  readonly isOver: boolean;
  /** The system has taken all of the answer for the client. */
  taken(): void;
  close(by: "its client"): void;
}

/** Tells `answering` when the client of its request has the answer, or is gone. */
export function attend(request: HttpRequest, answering: Answering): void {
  if (request instanceof NodeRequest) {
    request.attend(answering);
    return;
  }
  const leave = (): void => {
    if (answering.isOver) answering.taken(); // some platforms abort the signal of each request in the end
    answering.close("its client");
  };
  // Most answers are there before: to ask for the signal of a request costs more than they do.
  setImmediate(() => {
    if (answering.isOver) return;
    const { signal } = request;
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
  });
}

/** A request of `node:http`, with what frameworks add to it. */
export interface ReceivedMessage extends IncomingMessage {
  /** The whole URL, if `url` is only the part below a mount. */
  readonly originalUrl?: string;
  /** What the mount took of the URL. */
  readonly baseUrl?: string;
  /** The route of Express that was matched last, with what it leads to. */
  readonly route?: { readonly stack?: readonly { readonly handle?: unknown }[] };
  /** The parsed body. Some parsers leave an empty object if they read nothing. */
  readonly body?: unknown;
  /** What authentication left. */
  readonly auth?: unknown;
}

/** The target of a request in absolute form, as it is sent to proxies, which may pass it on so (RFC 9112, 3.2.2). */
const absoluteForm = /^https?:\/\/([^/?#]*)(.*)$/is;

/** The path and query of the URL, in whichever form it was sent. */
function urlOf({ originalUrl, url = "" }: ReceivedMessage): string {
  const sent = originalUrl ?? url;
  if (sent.startsWith("/")) return sent;
  const [, , path] = absoluteForm.exec(sent) ?? [];
  if (path === undefined) return sent;
  return path.startsWith("/") ? path : `/${path}`;
}

/** Whether its target names another host than its header: what is checked has to be what a proxy acted by. */
export function namesTwoHosts({ originalUrl, url = "", headers: { host } }: ReceivedMessage): boolean {
  const sent = originalUrl ?? url;
  if (sent.startsWith("/")) return false;
  const [, named] = absoluteForm.exec(sent) ?? [];
  return named !== undefined && named.toLowerCase() !== host?.toLowerCase();
}

/** Its path, without the query. */
export function pathnameOf(incoming: ReceivedMessage): string {
  const [pathname = ""] = urlOf(incoming).split("?");
  return pathname;
}

/** Whether the body was already read, so that it cannot be read again. */
export function wasRead({ readableDidRead, readableEnded }: IncomingMessage): boolean {
  return readableDidRead || readableEnded;
}

/** A name or address, and a port; anything else in its place would be taken for a path, or for a password. */
const hostForm = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/** A path that the web leaves as it is. Others are given to it to see. */
const plainPath = /^(?:\/[\w-]+)+$/;

/** Hosts that the web takes: clients send the same one with each request. */
const takenHosts = new Set<string>();
const mostTakenHosts = 100;

function isTaken(host: string): boolean {
  if (takenHosts.has(host)) return true;
  if (!hostForm.test(host) || !URL.canParse(`http://${host}/`)) return false;
  if (takenHosts.size >= mostTakenHosts) takenHosts.clear();
  takenHosts.add(host);
  return true;
}

/** What the web does not make a `Request` of. */
const forbidden: readonly string[] = ["CONNECT", "TRACE", "TRACK"];

/**
 * A request of `node:http`. Undefined for one that is not for a server, such as one to a proxy, one with an invalid host name, or one whose
 * path `Request` would change. `isBodyRead`: somebody has read the body before.
 */
export function nodeRequest(
  incoming: ReceivedMessage,
  outgoing: ServerResponse,
  isBodyRead = false,
): HttpRequest | undefined {
  const url = urlOf(incoming);
  const { host = "localhost" } = incoming.headers;
  const { method = "GET" } = incoming;
  if (!url.startsWith("/") || !isTaken(host) || forbidden.includes(method)) return undefined;
  const isPlain = plainPath.test(url);
  const path = isPlain ? url : (url.split(/[?#]/, 1)[0] ?? "");
  const address = `http://${host}${url}`;
  // The web makes `/mcp` of `/a/../mcp`; what guards that path before us has seen another one.
  if (!isPlain && URL.parse(address)?.pathname !== path) return undefined;
  const hasBody = method !== "GET" && method !== "HEAD" && !isBodyRead;
  return new NodeRequest(incoming, outgoing, { address, path, hasBody });
}

class NodeRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly pathname: string;
  readonly headers: HttpRequest["headers"];
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  readonly #hasBody: boolean;
  #body: ReadableStream<Uint8Array> | undefined;
  #isRead = false;
  #gone: AbortController | undefined;
  #web: Request | undefined;

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    {
      address,
      path,
      hasBody,
    }: { readonly address: string; readonly path: string; readonly hasBody: boolean },
  ) {
    this.method = incoming.method ?? "GET";
    this.url = address;
    this.pathname = path;
    this.headers = new NodeHeaders(incoming);
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#hasBody = hasBody;
  }

  get web(): Request {
    return (this.#web ??= new Request(this.url, {
      method: this.method,
      headers: webHeaders(this.#incoming),
      signal: this.signal,
      body: this.#isRead || this.#body !== undefined ? null : this.body,
      duplex: "half",
    }));
  }

  get isGone(): boolean {
    return this.#outgoing.destroyed && !this.#outgoing.writableEnded;
  }

  get signal(): AbortSignal {
    if (this.#gone === undefined) {
      const gone = (this.#gone = new AbortController());
      const outgoing = this.#outgoing;
      const closed = (): void => {
        if (!outgoing.writableEnded) gone.abort();
      };
      outgoing.once("close", closed);
      if (outgoing.destroyed) closed();
    }
    return this.#gone.signal;
  }

  get body(): ReadableStream<Uint8Array> | null {
    if (!this.#hasBody) return null;
    if (this.#web !== undefined) return this.#web.body; // which is another stream, if somebody has copied it
    return (this.#body ??= bodyOf(this.#incoming, () => this.#isRead));
  }

  get bodyUsed(): boolean {
    return this.#isRead || this.#web?.bodyUsed === true;
  }

  arrayBuffer(): Promise<ArrayBuffer | Uint8Array> {
    // Somebody has a copy of it, and reads at the same time.
    if (this.#body?.locked === true && this.#web !== undefined) return this.#web.arrayBuffer();
    this.#isRead = true;
    return this.#hasBody ? wholeOf(this.#incoming) : Promise.resolve(Buffer.alloc(0));
  }

  attend(answering: Answering): void {
    const outgoing = this.#outgoing;
    // Of what was written to a connection that is gone, Node says that it has finished, too.
    outgoing.on("finish", () => void (outgoing.destroyed || answering.taken()));
    outgoing.on("close", () => answering.close("its client")); // each comes once: what `once` adds would cost more
    if (outgoing.destroyed) answering.close("its client");
  }
}

class NodeHeaders {
  readonly #incoming: IncomingMessage;

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
  }

  get(name: string): string | null {
    return this.#incoming.headers[name]?.toString() ?? null;
  }

  has(name: string): boolean {
    return this.#incoming.headers[name] !== undefined;
  }
}

function webHeaders({ headers: received }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) {
    for (const item of [value ?? []].flat()) headers.append(name, item);
  }
  return headers;
}

function brokenOff(): Error {
  return new Error("The client aborted its request.");
}

/** A piece of a body. Somebody before us may have had the bytes made text. */
function bytesOf(piece: Buffer | string, { readableEncoding }: IncomingMessage): Buffer {
  return typeof piece === "string" ? Buffer.from(piece, readableEncoding ?? "utf8") : piece;
}

/** All of a body whose length was declared: one that comes in one piece, as small ones do, is there before its end is known. */
function wholeOf(incoming: IncomingMessage): Promise<Uint8Array> {
  const declared = Number(incoming.headers["content-length"] ?? 0);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (piece: Buffer | string): void => {
      const chunk = bytesOf(piece, incoming);
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= declared) onEnd();
    };
    const onEnd = (): void => {
      stop();
      const [first = Buffer.alloc(0)] = chunks;
      resolve(chunks.length > 1 ? Buffer.concat(chunks) : first);
    };
    const onBroken = (): void => {
      stop();
      reject(brokenOff());
    };
    const stop = (): void => {
      incoming.off("data", onData).off("close", onBroken);
    };
    if (!(declared > 0)) return onEnd();
    // A client that left before anything was read causes no event any more.
    if (incoming.destroyed) return reject(brokenOff());
    incoming.on("data", onData).on("close", onBroken); // which comes after each error, too
    incoming.resume(); // somebody before us may have let it wait
  });
}

/** One chunk is in memory at a time; what comes after the reader has cancelled is thrown away. */
function bodyOf(incoming: IncomingMessage, isRead: () => boolean): ReadableStream<Uint8Array> {
  let begun = false;
  let over = false;
  const begin = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const end = (how: () => void): void => {
      if (over) return;
      over = true;
      how();
    };
    const broken = (): void => end(() => controller.error(brokenOff()));
    incoming.on("data", (piece: Buffer | string) => {
      if (over) return;
      incoming.pause(); // until the next one is asked for
      controller.enqueue(bytesOf(piece, incoming));
    });
    incoming.once("end", () => end(() => controller.close()));
    incoming.once("error", broken).once("close", broken);
  };
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (!begun && isRead()) throw new TypeError("The body was read before.");
        if (!begun && incoming.destroyed) throw brokenOff();
        if (!begun) begin(controller);
        begun = true;
        incoming.resume();
      },
      cancel() {
        over = true;
        incoming.resume();
      },
    },
    { highWaterMark: 0 },
  );
}
