import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { OnError } from "../faults.ts";
import type { FastPath, OrdinaryPath } from "./fast-path.ts";
import type { Arrival, Handler } from "./handler.ts";
import type { NodeRequestLimits } from "./limits.ts";
import { fromNode, type ReceivedMessage } from "./node-request.ts";
import { ResponseSender } from "./node-response.ts";
import type { ParsedBody } from "./read-body.ts";
import { refuse } from "./refuse.ts";

export interface NodeRequestsSetup {
  /** Tried before `handler.fetch`. */
  readonly fastPath: Pick<FastPath, "takes">;
  readonly handler: Pick<Handler, "fetch" | "holderOf" | "unread">;
  readonly limits: NodeRequestLimits;
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

/** Answers requests of `node:http`, and does not let their clients be slow, large or many without bounds. */
export class NodeRequests {
  readonly #setup: NodeRequestsSetup;
  readonly #sender: ResponseSender;
  readonly #underWay = new WeakMap<Socket, number>();

  constructor(setup: NodeRequestsSetup) {
    this.#setup = setup;
    this.#sender = new ResponseSender(setup.handler.unread, setup.limits.stallTimeoutMs);
  }

  handle(incoming: ReceivedMessage, outgoing: ServerResponse, context: NodeRequestContext = {}): void {
    // Its client is gone, or somebody else has answered.
    if (outgoing.destroyed || outgoing.headersSent) return;
    const { socket } = incoming;
    if (this.#count(socket, 1) > maxPipelined) {
      socket.destroy();
      return;
    }
    outgoing.once("close", () => this.#count(socket, -1));
    const { fastPath, onError, onResponse } = this.#setup;
    onResponse(outgoing);
    const failed = (error: unknown): void => {
      onError(error);
      outgoing.destroy();
    };
    const arrival = { parsed: context.parsed, upstream: { auth: context.auth, incoming } };
    const ordinary: OrdinaryPath = {
      upstream: arrival.upstream,
      respond: (received, sender) =>
        void this.#respond(incoming, outgoing, { ...arrival, sender }, received).catch(failed),
      send: (response, principal) => void this.#sender.send(response, outgoing, principal).catch(failed),
      sendText: (body, bytes, principal) =>
        void this.#sender.sendText(body, bytes, outgoing, principal).catch(failed),
    };
    const isPlain = context.parsed === undefined && this.#refusal(incoming) === undefined;
    if (!isPlain || !fastPath.takes(incoming, outgoing, ordinary)) ordinary.respond();
  }

  async #respond(
    incoming: ReceivedMessage,
    outgoing: ServerResponse,
    arrival: Arrival,
    received?: Uint8Array,
  ): Promise<void> {
    const { handler, inForm = (refusal) => refusal } = this.#setup;
    const gone = new AbortController();
    let sent = false;
    outgoing.once("close", () => {
      if (!sent) gone.abort();
    });
    const refused = this.#refusal(incoming);
    const isParsed = arrival.parsed !== undefined;
    const request =
      refused === undefined ? fromNode(incoming, gone.signal, isParsed ? null : received) : undefined;
    const response =
      request === undefined
        ? await inForm(refused ?? refuse(400, "Bad request"))
        : await handler.fetch(request, arrival);
    if (!incoming.complete && hangUpAfter.includes(response.status)) {
      outgoing.setHeader("Connection", "close");
    }
    await this.#sender.send(response, outgoing, request === undefined ? null : handler.holderOf(request));
    sent = true;
  }

  /** Of what no web `Request` could tell us any more. */
  #refusal({ httpVersionMajor, rawHeaders }: IncomingMessage): Response | undefined {
    if (httpVersionMajor > 1) return refuse(505, "MCP is served over HTTP/1.1 here.");
    const { maxHeaders } = this.#setup.limits;
    // Node leaves out headers beyond its limit without a word, and one of them may be the Origin.
    if (rawHeaders.length / 2 > maxHeaders) return refuse(431, `More than ${maxHeaders} headers.`);
    // Of some that are repeated it takes the first, and joins others.
    const repeated = repeatedHeader(rawHeaders);
    return repeated === undefined ? undefined : refuse(400, `There is more than one ${repeated} header.`);
  }

  #count(socket: Socket, more: 1 | -1): number {
    const requests = (this.#underWay.get(socket) ?? 0) + more;
    this.#underWay.set(socket, requests);
    return requests;
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
