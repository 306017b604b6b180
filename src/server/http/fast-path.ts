import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { generation } from "../../generation/2026-07-28.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { messageFault, nodeFault, type Share, shareOf } from "../limits.ts";
import type { TaskServer } from "../task-server.ts";
import type { Admission, Admitted, AllowedNames } from "./admission.ts";
import type { Outgoing } from "./exchange.ts";
import type { FetchHandlerOptions } from "./http-options.ts";
import { identify, senderFrom, type Sender, type Upstream } from "./identify.ts";
import type { Messages } from "./messages.ts";
import { fromNode, isServedHost, urlOf } from "./node-request.ts";
import { acceptedForm } from "./sessions/request-ids.ts";

/** Larger bodies take the ordinary path. */
const mostBytes = 64 * 1024;

export interface FastPathSetup {
  readonly server: TaskServer;
  readonly options: FetchHandlerOptions;
  readonly admission: Admission;
  readonly messages: Messages;
  readonly names: AllowedNames;
  /** Reports an answer that refuses the request. */
  readonly told: (answer: Outgoing, principal: string | null, method: string | null | undefined) => void;
  /** The largest body that is accepted at all. */
  readonly maxBytes: number;
  /** Whether the tasks have started, and nothing is closed. */
  readonly isReady: () => boolean;
  /** Reports a fault and returns the response for it. */
  readonly failed: (error: unknown) => Response;
}

/** The ordinary path of one request. */
export interface OrdinaryPath {
  readonly upstream: Upstream;
  /** Answers the request; `body` is its body, if already read, and `sender` its sender, if known. */
  respond(body?: Uint8Array, sender?: Sender): void;
  send(answer: Outgoing, share: Share): void;
}

/** A request that may be answered here. */
interface Received {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Of its body, in bytes. */
  readonly length: number;
  readonly ordinary: OrdinaryPath;
}

/**
 * Answers a request of `node:http` without building a web `Request` or `Response`, if it is one of ours in protocol
 * 2026-07-28, or a poll in a session, and right beyond doubt. All others take the ordinary path, which knows every refusal.
 */
export class FastPath {
  readonly #setup: FastPathSetup;
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #bodies = new PromptBodies();

  constructor(setup: FastPathSetup) {
    this.#setup = setup;
    this.#path = setup.options.path ?? "/mcp";
    this.#maxBytes = Math.min(mostBytes, setup.maxBytes);
  }

  /** Whether it takes the request: then it answers it, or hands it to `ordinary` when it knows more of it. */
  takes(incoming: IncomingMessage, outgoing: ServerResponse, ordinary: OrdinaryPath): boolean {
    if (urlOf(incoming) !== this.#path || incoming.method !== "POST" || !this.#setup.isReady()) return false;
    const { headers } = incoming;
    const length = Number(headers["content-length"]);
    if (
      headers["content-type"] !== "application/json" ||
      (headers["mcp-protocol-version"] !== generation && !isInSession(headers)) ||
      !(length > 0 && length <= this.#maxBytes) ||
      headers["transfer-encoding"] !== undefined ||
      headers["content-encoding"] !== undefined ||
      headers.origin !== undefined ||
      headers.expect !== undefined ||
      !isServedHost(headers.host ?? "") ||
      !this.#setup.names.allowsHost(headers.host)
    ) {
      return false;
    }
    const request = { incoming, outgoing, length, ordinary };
    const { options } = this.#setup;
    const isAnonymous = options.authenticate === undefined && ordinary.upstream.auth === undefined;
    const sender = isAnonymous ? senderFrom(ordinary.upstream, options) : undefined;
    if (sender === undefined) this.#authenticate(request).catch(this.#setup.failed);
    else this.#receive(request, sender);
    return true;
  }

  /** Its sender first: strangers get no memory for a body. */
  async #authenticate(received: Received): Promise<void> {
    const { incoming, outgoing, ordinary } = received;
    const { server, options, failed } = this.#setup;
    const request = fromNode(incoming, goneSignal(outgoing));
    if (request === undefined) {
      ordinary.respond();
      return;
    }
    const sender = await identify(request, ordinary.upstream, options, server.onError).catch(failed);
    if (sender instanceof Response) this.#send(sender, { principal: null }, received);
    else this.#receive(received, sender);
  }

  #receive(received: Received, sender: Sender): void {
    const { incoming, length, ordinary } = received;
    this.#bodies.receive(incoming, length, (bytes) => {
      const isWhole = bytes.length === length;
      const respond = isWhole ? this.#responder(received, bytes, sender) : undefined;
      if (respond === undefined) {
        ordinary.respond(isWhole ? bytes : undefined, sender);
        return;
      }
      respond()
        .catch(this.#setup.failed)
        .then((answer) => this.#send(answer, sender, received))
        .catch(this.#setup.failed);
    });
  }

  /** What answers a body; undefined for one that is not ours, or with something in doubt. */
  #responder(received: Received, bytes: Buffer, sender: Sender): (() => Promise<Outgoing>) | undefined {
    try {
      const body = this.#parsed(bytes);
      const respond = body && this.#responderTo(body, received, sender);
      if (body === undefined || respond === undefined) return undefined;
      const arrived = { isGet: false, body, sender };
      return () => this.#setup.admission.admit(arrived, respond);
    } catch {
      return undefined; // the ordinary path fails at it, too, and reports it; here nobody would catch it
    }
  }

  #responderTo(
    body: JsonObject,
    { incoming, outgoing }: Received,
    sender: Sender,
  ): ((admitted: Admitted) => Promise<Outgoing>) | undefined {
    const { headers } = incoming;
    const { messages } = this.#setup;
    const version = headers["mcp-protocol-version"] as string | undefined;
    if (version !== generation) {
      const session = messages.session(String(headers["mcp-session-id"]), sender.principal);
      if (session === undefined || !session.takes(body, version ?? null)) return undefined;
      return (admitted) => session.poll(body, admitted);
    }
    const header = (name: string): string => headers[name] as string;
    if (!messages.isReadyFor(body, header, sender)) {
      if (!messages.isReadyToListen(body, header, sender)) return undefined;
      return (admitted) => messages.listen(body, admitted);
    }
    return (admitted) => {
      const exchange = messages.begin(
        body,
        admitted,
        () => fromNode(incoming, goneSignal(outgoing), null),
        headers.accept ?? null,
      );
      // Of what was written to a connection that is gone, Node says that it has finished, too.
      outgoing.once("finish", () => void (outgoing.destroyed || exchange.taken()));
      outgoing.once("close", () => exchange.close("its client"));
      if (outgoing.destroyed) exchange.close("its client");
      return exchange.begun();
    };
  }

  #parsed(bytes: Buffer): JsonObject | undefined {
    const { maxNesting, maxNodes } = this.#setup.server.options;
    if (!isUtf8(bytes)) return undefined;
    const text = bytes.toString();
    if (nodeFault(text, maxNodes) !== undefined) return undefined;
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      return undefined;
    }
    return isJsonObject(body) && messageFault(body, maxNesting) === undefined ? body : undefined;
  }

  #send(answer: Outgoing, sender: Sender, { incoming, ordinary }: Received): void {
    this.#setup.told(answer, sender.principal, incoming.headers["mcp-method"]?.toString());
    ordinary.send(answer, shareOf(sender));
  }
}

/** Whether a request of an earlier revision is one of a session that nothing is wrong with by its headers. */
function isInSession(headers: IncomingHttpHeaders): boolean {
  const isNew = headers["last-event-id"] === undefined;
  return (
    headers["mcp-session-id"] !== undefined && isNew && acceptedForm(headers.accept ?? null) !== undefined
  );
}

/** Aborts when the client is gone. */
function goneSignal(outgoing: ServerResponse): AbortSignal {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  if (outgoing.destroyed) gone.abort();
  return gone.signal;
}

/** How long to wait for a body, which normally arrives with its headers or right after them. */
const promptMs = 100;

/** Bodies that come at once and in one piece, as small ones do. */
export class PromptBodies {
  readonly #delays = new Delays(promptMs);

  /** Calls `received` with the body, or with less of it: then all of it is still to be read from `incoming`. */
  receive(incoming: IncomingMessage, length: number, received: (bytes: Buffer) => void): void {
    const onData = (chunk: Buffer): void => {
      end();
      if (chunk.length < length) {
        incoming.pause();
        incoming.unshift(chunk);
      }
      received(chunk);
    };
    const onLate = (): void => {
      end();
      incoming.pause();
      received(Buffer.alloc(0));
    };
    const inTime = this.#delays.add(onLate);
    const end = (): void => {
      inTime();
      incoming.off("data", onData).off("close", end);
    };
    incoming.on("data", onData).on("close", end);
  }
}

/** Notices what takes longer than `ms`, and at most twice as long. One timer for all: most requests are received at once. */
class Delays {
  readonly #ms: number;
  #new = new Set<() => void>();
  #old = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Calls `late` once; returns the way to call it off. */
  add(late: () => void): () => void {
    const set = this.#new.add(late);
    this.#timer ??= setInterval(() => this.#tick(), this.#ms).unref();
    return () => void set.delete(late);
  }

  #tick(): void {
    const late = this.#old;
    this.#old = this.#new;
    this.#new = new Set();
    for (const each of late) each();
    if (this.#old.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
