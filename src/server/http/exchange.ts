import type { ExactMessage, RequestStream } from "../2026-07-28/admission.ts";
import { legacyMissingCapability } from "../faults.ts";
import { shareOf } from "../limits.ts";
import type { TaskServer } from "../task-server.ts";
import type { AuthorIdentity } from "../server-identity.ts";
import { type HttpRequest, webOf } from "./http-request.ts";
import type { Sender } from "./identify.ts";
import {
  eventStream,
  keepAliveComment,
  keepAliveMs,
  messageEvent,
  OutgoingStream,
  type StreamAnswer,
} from "./outgoing-stream.ts";
import type { Backlog, UnreadBytes } from "./unread-bytes.ts";
import type { Answer, JsonWithBytes, TextAnswer } from "../request.ts";
import { type AnswerEnd, memoryFor } from "../streams.ts";
import { cutOff } from "./refusals.ts";
import { acceptedForm, type AnswerForm } from "./sessions/request-ids.ts";

/** The response to a request: one JSON text, the stream of events that it became, or a refusal. Undefined: the client no longer waits. */
export type Outgoing = JsonOutgoing | StreamAnswer | Response | undefined;

export function isStreamAnswer(outgoing: Outgoing): outgoing is StreamAnswer {
  return outgoing !== undefined && "stream" in outgoing;
}

export interface JsonOutgoing {
  readonly status: number;
  readonly json: string | JsonWithBytes;
  /** The session in which it is an answer. */
  readonly sessionId?: string;
  /** Of its head, besides that of the session and its length; left out before those are known. */
  readonly headers?: Readonly<Record<string, string>>;
}

const nothing = (): void => undefined;

type Ending = "answered" | "closed by us" | "closed by its client";

/**
 * One request over HTTP and its answer: JSON, unless a notification comes before the answer, or a long silence, which makes a
 * stream of events of it if its client accepts one.
 */
export class Exchange implements RequestStream {
  #outgoing: Promise<Outgoing> | undefined;
  #settle: (outgoing: Outgoing) => void;
  readonly #count: (cut: () => void) => Backlog;
  readonly #form: AnswerForm;
  #aborted: AbortController | undefined;
  readonly #actions: ((end: AnswerEnd) => void)[] = [];
  #undelivered: (() => void) | undefined;
  #stream: OutgoingStream | undefined;
  #silence: NodeJS.Timeout | undefined;
  #over: Ending | undefined;

  /** `count` begins to count what waits, which `cut` drops. */
  constructor(count: (cut: () => void) => Backlog, form: AnswerForm = "stream") {
    this.#count = count;
    this.#form = form;
    const { promise, resolve } = Promise.withResolvers<Outgoing>();
    this.#outgoing = promise;
    // A function that is written as the value of a property lives until the next major garbage collection, with all that it refers to.
    const settle = (outgoing: Outgoing): void => {
      this.#settle = nothing; // else it would hold the text until the client has taken it
      resolve(outgoing);
    };
    this.#settle = settle;
  }

  /** Resolves as soon as the response is known. Call it once: the response is not kept here. */
  begun(): Promise<Outgoing> {
    const outgoing = this.#outgoing ?? Promise.resolve(undefined);
    this.#outgoing = undefined;
    return outgoing;
  }

  /** Aborts when the request is not to be answered any more. Most requests never look at it. */
  get signal(): AbortSignal {
    this.#aborted ??= new AbortController();
    if (this.#over === "closed by us" || this.#over === "closed by its client") this.#aborted.abort(closed());
    return this.#aborted.signal;
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  get leftBy(): "closing" | undefined {
    return this.#over === "closed by us" ? undefined : "closing";
  }

  /**
   * Begins the stream if there is no answer for long: Node's `fetch` and many proxies wait five minutes or less for the first byte.
   */
  keepAlive(): void {
    if (this.#form === "json") return;
    this.#silence = setTimeout(() => {
      if (this.#over !== undefined || this.#stream !== undefined) return;
      this.#stream = this.#open();
      this.#stream.write(keepAliveComment);
    }, keepAliveMs).unref();
  }

  notify(method: string, params: object): void {
    if (this.#over !== undefined || this.#form === "json") return;
    this.#stream ??= this.#open();
    this.#stream.write(messageEvent({ jsonrpc: "2.0", method, params }));
  }

  afterAnswer(action: (end: AnswerEnd) => void): void {
    if (this.#over === undefined) this.#actions.push(action);
    else action("lost");
  }

  onUndelivered(action: () => void): void {
    if (this.#over === undefined) this.#undelivered = action;
    else action();
  }

  /** The system has taken all of the answer for its client. */
  taken(): void {
    this.#undelivered = undefined;
  }

  /** `json` is the whole message. */
  answer(status: number, json: string | JsonWithBytes): void {
    if (this.#over !== undefined) return;
    if (this.#stream === undefined) this.#settle({ status, json });
    else this.#stream.write(messageEvent(String(json)));
    this.#end("answered", "sent");
  }

  /** Ends it without an answer. */
  close(by: "us" | "its client"): void {
    if (by === "its client") this.#stream?.abandon();
    const undelivered = this.#undelivered;
    this.#undelivered = undefined;
    undelivered?.();
    if (this.#over !== undefined) return;
    this.#end(`closed by ${by}`, "lost");
    this.#aborted?.abort(closed());
    this.#settle(by === "us" ? cutOff() : undefined);
  }

  #end(how: Ending, end: AnswerEnd): void {
    this.#over = how;
    clearTimeout(this.#silence);
    this.#stream?.complete();
    for (const action of this.#actions) action(end);
  }

  #open(): OutgoingStream {
    const stream = new OutgoingStream({ count: this.#count, keepAlive: true });
    stream.whenEnded((end) => {
      if (end === "abandoned") this.close("its client");
    });
    this.#settle(eventStream(stream));
    return stream;
  }
}

/**
 * The signal of an exchange, which is made when it is looked at. In a literal, the getter would give each request a hidden class of its own:
 * V8 keeps those among its old objects, and with each all that its request refers to.
 */
class LazySignal {
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }
}

/** Handles requests of protocol 2026-07-28 over HTTP that are ours: each is answered separately, without the author's server. */
export class TaskRequests {
  readonly #server: TaskServer;
  readonly #unread: UnreadBytes;
  readonly #open = new Set<Exchange>();

  constructor(server: TaskServer, unread: UnreadBytes) {
    this.#server = server;
    this.#unread = unread;
  }

  /** Begins to answer `message` of `http`. The caller reports when the client disconnects. */
  begin(
    { id, method, params }: ExactMessage,
    sender: Sender,
    author: AuthorIdentity,
    http: HttpRequest,
  ): Exchange {
    const { dispatcher, legacyErrorCodes, tracing } = this.#server;
    const { principal, access, auth, authInfo } = sender;
    const share = shareOf(sender);
    const exchange = new Exchange(
      (cut) => this.#unread.open(share, cut),
      acceptedForm(http.headers.get("accept")),
    );
    this.#open.add(exchange);
    if (method === "tools/call") exchange.keepAlive(); // the others are answered at once
    const trace = tracing?.begin({ id, method, params }, "http");
    if (trace !== undefined) {
      exchange.afterAnswer((end) => {
        if (end === "lost") trace.cancelled();
      });
    }
    const request = Object.assign(new LazySignal(exchange), {
      id,
      method,
      params: trace === undefined ? params : trace.paramsOf(params),
      trace,
      principal,
      access,
      auth,
      transport: { authInfo, http: () => webOf(http) },
      stream: exchange,
      reserve: memoryFor(exchange, this.#unread.reserveFor(share), (release) =>
        exchange.afterAnswer(release),
      ),
      author,
    });
    const handled =
      trace === undefined ? dispatcher.handle(request) : trace.run(() => dispatcher.handle(request));
    void handled.then((answer) => {
      this.#open.delete(exchange);
      if (answer === undefined) {
        trace?.cancelled();
        return;
      }
      trace?.answered(answer);
      const code = "error" in answer ? answer.error.code : undefined;
      const refused = code === -32021 || (legacyErrorCodes && code === legacyMissingCapability);
      exchange.answer(refused ? 400 : 200, answerText(id, answer));
    });
    return exchange;
  }

  /** Ends what is in flight. */
  close(): void {
    for (const exchange of this.#open) exchange.close("us");
  }
}

/** Turns what goes out into a web `Response`; 499 when nobody waits for one. */
export function responseOf(outgoing: Outgoing): Response {
  if (outgoing === undefined) return new Response(null, { status: 499 });
  if (outgoing instanceof Response) return outgoing;
  if (isStreamAnswer(outgoing)) return new Response(outgoing.stream.readable, outgoing.head);
  const { status, json } = outgoing;
  const body = typeof json === "string" ? json : ReadableStream.from(json.pieces());
  return new Response(body, { status, headers: headersOf(outgoing) });
}

/** Of its head, by name. */
export function headersOf({ json, headers, sessionId }: JsonOutgoing): Readonly<Record<string, string>> {
  return {
    ...(headers ?? { "Content-Type": "application/json" }),
    "Content-Length": String(bytesOf(json)),
    ...(sessionId !== undefined && { "Mcp-Session-Id": sessionId }),
  };
}

/** Of its text. */
export function bytesOf(json: JsonOutgoing["json"]): number {
  return typeof json === "string" ? Buffer.byteLength(json) : json.bytes;
}

function closed(): DOMException {
  return new DOMException("The connection is closed.", "AbortError");
}

/** The JSON text of the answer to `id`. */
export function answerText(id: string | number, answer: Answer | TextAnswer): string | JsonWithBytes {
  if ("resultText" in answer) {
    const { resultText } = answer;
    const before = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
    return typeof resultText === "string" ? `${before}${resultText}}` : resultText.within(before, "}");
  }
  return JSON.stringify({ jsonrpc: "2.0", id, ...answer });
}
