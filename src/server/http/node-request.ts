import type { IncomingMessage } from "node:http";

/** A name or address, and a port; anything else in its place would be taken for a path, or for a password. */
const hostForm = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

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
export function urlOf({ originalUrl, url = "" }: ReceivedMessage): string {
  const sent = originalUrl ?? url;
  if (sent.startsWith("/")) return sent;
  const [, , path] = absoluteForm.exec(sent) ?? [];
  if (path === undefined) return sent;
  return path.startsWith("/") ? path : `/${path}`;
}

/** Whether its target names another host than its header: what is checked has to be what a proxy acted by. */
export function namesTwoHosts({ originalUrl, url = "", headers: { host } }: ReceivedMessage): boolean {
  const [, named] = absoluteForm.exec(originalUrl ?? url) ?? [];
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

/**
 * A request of `node:http` as a web `Request`. Its body is received only as it is read: the headers alone identify the sender and decide
 * whether it is allowed, and strangers get no memory. `received` is a body that was read before, or null for one that is not needed.
 * `signal` aborts when the client disconnects. Undefined for a request that is not for a server, such as one to a proxy, one with an
 * invalid host name, or one whose path `Request` would change.
 */
export function fromNode(
  incoming: ReceivedMessage,
  signal: AbortSignal,
  received?: Uint8Array | null,
): Request | undefined {
  const { method = "GET" } = incoming;
  const url = urlOf(incoming);
  const { host = "localhost" } = incoming.headers;
  if (!url.startsWith("/") || !isServedHost(host)) return undefined;
  const hasBody = method !== "GET" && method !== "HEAD" && received !== null;
  const body = hasBody ? (received ?? bodyOf(incoming)) : null;
  const init = { method, headers: headersOf(incoming), signal, body, duplex: "half" } as const;
  const [path = ""] = url.split(/[?#]/, 1);
  try {
    const request = new Request(`http://${host}${url}`, init);
    // The web makes `/mcp` of `/a/../mcp`; what guards that path before us has seen another one.
    return pathOf(request) === path ? request : undefined;
  } catch {
    return undefined; // the web forbids the method or the URL
  }
}

/** The path of a URL as in `Request`: complete and normalized. */
export function pathOf({ url }: Request): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.slice(start).search(/[?#]/);
  return end === -1 ? url.slice(start) : url.slice(start, start + end);
}

/** Whether a `Host` header is a name or an address, and maybe a port. */
export function isServedHost(host: string): boolean {
  return hostForm.test(host);
}

function headersOf({ headers: received }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) {
    for (const item of [value ?? []].flat()) headers.append(name, item);
  }
  return headers;
}

/** One chunk is in memory at a time; what comes after the reader has cancelled is thrown away. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let begun = false;
  let over = false;
  const begin = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const end = (how: () => void): void => {
      if (over) return;
      over = true;
      how();
    };
    const broken = (): void => end(() => controller.error(new Error("The client aborted its request.")));
    incoming.on("data", (chunk: Buffer) => {
      if (over) return;
      incoming.pause(); // until the next one is asked for
      controller.enqueue(chunk);
    });
    incoming.once("end", () => end(() => controller.close()));
    incoming.once("error", broken).once("close", broken);
  };
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        // A client that left before anything was read causes no event any more.
        if (!begun && incoming.destroyed) throw new Error("The client aborted its request.");
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
