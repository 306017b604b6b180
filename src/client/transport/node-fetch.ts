import { request as requestHttp, type IncomingMessage, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FetchLike } from "@modelcontextprotocol/client";

/** Statuses whose responses have no body, as `Response` wants them. */
const withoutBody = new Set([204, 205, 304]);

/**
 * A fetch without time limits, with the features that the client's transport uses. Node's `fetch` fails when the
 * server sends nothing for 300 seconds, and a tool may take longer. Redirects are not followed.
 */
export const fetchWithoutTimeout: FetchLike = fetchBy({});

/** The same with more options of its connections. */
export function fetchBy(connecting: Pick<RequestOptions, "agent" | "lookup">): FetchLike {
  return async (url, init) => send(url, init ?? {}, connecting);
}

async function send(
  url: string | URL,
  { method = "GET", headers, body, signal }: RequestInit,
  connecting: Pick<RequestOptions, "agent" | "lookup">,
): Promise<Response> {
  if (body !== undefined && body !== null && typeof body !== "string" && !(body instanceof Uint8Array))
    throw new TypeError("The body of a request must be a string or bytes");
  // A request on a keep-alive connection that the server has just closed would be lost: one turn of the event loop
  // reads the close, the next one drops the connection.
  await nextTurn();
  await nextTurn();
  signal?.throwIfAborted();
  const target = new URL(url);
  const given = new Headers(headers);
  if (!given.has("accept-encoding")) given.set("accept-encoding", "gzip, deflate");
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const begin = target.protocol === "https:" ? requestHttps : requestHttp;
  const options = { method, headers: Object.fromEntries(given), ...(signal && { signal }), ...connecting };
  const request = begin(target, options, (response) => {
    try {
      resolve(toResponse(response));
    } catch (error) {
      response.destroy();
      reject(error);
    }
  });
  // An error after the response also fails its body, and this reject does nothing.
  request.on("error", (cause) =>
    reject(signal?.aborted === true ? (signal.reason as Error) : new TypeError("fetch failed", { cause })),
  );
  // Headers are Latin-1. Node would send them in the encoding of a text that goes with them.
  request.end(typeof body === "string" ? Buffer.from(body) : (body ?? undefined));
  return promise;
}

function toResponse(message: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage: statusText = "", rawHeaders } = message;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  if (withoutBody.has(status)) {
    message.resume();
    return new Response(null, { status, statusText, headers });
  }
  const body = Readable.toWeb(message) as ReadableStream<Uint8Array<ArrayBuffer>>;
  const encoding = headers.get("content-encoding")?.toLowerCase();
  const plain =
    encoding === "gzip" || encoding === "deflate"
      ? body.pipeThrough(new DecompressionStream(encoding))
      : body;
  return new Response(plain, { status, statusText, headers });
}
