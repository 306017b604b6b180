import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { OnError } from "../faults.ts";
import type { Principal } from "../per-principal.ts";
import type { ConnectionLimits } from "./limits.ts";
import type { FastPath, OrdinaryPath } from "./fast-path.ts";
import type { Sender } from "./identify.ts";
import { fromNode } from "./node-request.ts";
import { ResponseSender } from "./node-response.ts";
import { refuse } from "./refuse.ts";
import type { UnreadBytes } from "./unread-bytes.ts";

export interface NodeServerSetup {
  /** Tried before `fetch`. */
  readonly fastPath: Pick<FastPath, "takes">;
  /** `sender` is who sent the request, if that is known. */
  readonly fetch: (request: Request, sender?: Sender) => Promise<Response>;
  /** Who sent a request that was answered. */
  readonly holderOf: (request: Request) => Principal;
  readonly unread: UnreadBytes;
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
export function createNodeServer(setup: NodeServerSetup): Server {
  const { fastPath, fetch, holderOf, unread, limits, onError, onResponse } = setup;
  const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, maxHeaders } = limits;
  const sender = new ResponseSender(unread, limits.stallTimeoutMs);
  const headerRefusal = (raw: readonly string[]): Response | undefined => {
    // Node leaves out headers beyond the limit without a word, and one of them may be the Origin.
    if (raw.length / 2 > maxHeaders) return refuse(431, `More than ${maxHeaders} headers.`);
    // Of some that are repeated it takes the first, and joins others.
    const repeated = repeatedHeader(raw);
    return repeated === undefined ? undefined : refuse(400, `There is more than one ${repeated} header.`);
  };
  const answer = async (request: Request | undefined, known?: Sender): Promise<Response> =>
    request === undefined ? refuse(400, "Bad request") : fetch(request, known);
  const respond = async (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    received?: Uint8Array,
    known?: Sender,
  ): Promise<void> => {
    const gone = new AbortController();
    let sent = false;
    outgoing.once("close", () => {
      if (!sent) gone.abort();
    });
    const request = fromNode(incoming, gone.signal, received);
    const response = headerRefusal(incoming.rawHeaders) ?? (await answer(request, known));
    if (!incoming.complete && hangUpAfter.includes(response.status)) {
      outgoing.setHeader("Connection", "close");
    }
    await sender.send(response, outgoing, request === undefined ? null : holderOf(request));
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
      const failed = (error: unknown): void => {
        onError(error);
        outgoing.destroy();
      };
      const ordinary: OrdinaryPath = {
        respond: (received, known) => void respond(incoming, outgoing, received, known).catch(failed),
        send: (response, principal) => void sender.send(response, outgoing, principal).catch(failed),
        sendText: (body, bytes, principal) =>
          void sender.sendText(body, bytes, outgoing, principal).catch(failed),
      };
      const isSound = headerRefusal(incoming.rawHeaders) === undefined;
      if (!isSound || !fastPath.takes(incoming, outgoing, ordinary)) ordinary.respond();
    },
  );
  node.maxConnections = limits.maxConnections;
  node.maxHeadersCount = maxHeaders + 1;
  return node;
}

/** Of these there is one. A proxy may act by another of several than the server does. */
const single = ["host", "authorization", "origin", "content-type", "mcp-session-id", "mcp-protocol-version"];

/** The name of a header that is there more than once, of those of which there is one; `raw` is as `node:http` gives it. */
function repeatedHeader(raw: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let place = 0; place < raw.length; place += 2) {
    const name = raw[place]?.toLowerCase() ?? "";
    if (seen.has(name)) return name;
    if (single.includes(name)) seen.add(name);
  }
  return undefined;
}
