import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { OnError } from "../answer.ts";
import type { ConnectionLimits } from "./limits.ts";
import { fromNode } from "./node-request.ts";
import { sendResponse } from "./node-response.ts";
import { refuse } from "./refuse.ts";
import { repeatedHeader } from "./repeated-header.ts";

export interface NodeServerSetup {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly limits: ConnectionLimits;
  readonly onError: OnError;
  /** Told of each response before it is begun. */
  readonly onResponse: (response: ServerResponse) => void;
}

/** What took too long is not waited for, nor what would have been read at another time. */
const hangUpAfter: readonly number[] = [408, 503];

/** Clients send one request after another on a connection; who sends so many at once gets none of them answered. */
const maxPipelined = 100;

/** A server of `node:http` that does not let its clients be slow, large or many without bounds. */
export function createNodeServer({ fetch, limits, onError, onResponse }: NodeServerSetup): Server {
  const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, maxHeaders, stallTimeoutMs } = limits;
  const headerRefusal = (raw: readonly string[]): Response | undefined => {
    // Node leaves out headers beyond the limit without a word, and one of them may be the Origin.
    if (raw.length / 2 > maxHeaders) return refuse(431, `More than ${maxHeaders} headers.`);
    // Of some that are repeated it takes the first, and joins others.
    const repeated = repeatedHeader(raw);
    return repeated === undefined ? undefined : refuse(400, `There is more than one ${repeated} header.`);
  };
  const answer = async (request: Request | undefined): Promise<Response> =>
    request === undefined ? refuse(400, "Bad request") : fetch(request);
  const respond = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    let sent = false;
    outgoing.once("close", () => {
      if (!sent) gone.abort();
    });
    const response = headerRefusal(incoming.rawHeaders) ?? (await answer(fromNode(incoming, gone.signal)));
    if (!incoming.complete && hangUpAfter.includes(response.status)) {
      outgoing.setHeader("Connection", "close");
    }
    await sendResponse(response, outgoing, stallTimeoutMs);
    sent = true;
  };
  const underWay = new WeakMap<Socket, number>();
  const count = (socket: Socket, more: 1 | -1): number => {
    const requests = (underWay.get(socket) ?? 0) + more;
    underWay.set(socket, requests);
    return requests;
  };
  const node = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      // How exact the first two are.
      connectionsCheckingInterval: Math.min(5_000, headersTimeoutMs, requestTimeoutMs),
      insecureHTTPParser: false,
    },
    (incoming, outgoing) => {
      const { socket } = incoming;
      if (count(socket, 1) > maxPipelined) {
        socket.destroy();
        return;
      }
      outgoing.once("close", () => count(socket, -1));
      onResponse(outgoing);
      respond(incoming, outgoing).catch((error: unknown) => {
        onError(error);
        outgoing.destroy();
      });
    },
  );
  node.maxConnections = limits.maxConnections;
  node.maxHeadersCount = maxHeaders + 1;
  return node;
}
