import { AsyncLocalStorage } from "node:async_hooks";
import {
  createMcpHandler,
  isLegacyRequest,
  SERVER_INFO_META_KEY,
  type ServerNotifier,
  type AuthInfo,
  type McpServer,
  type McpServerFactory,
} from "@modelcontextprotocol/server";
import { hasSessions } from "../../generation/generations.ts";
import { listenMethod, listensToTasksOnly } from "../../generation/2026-07-28-listen.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { headersRepeat, isExact, type ExactMessage } from "../2026-07-28/admission.ts";
import { shareOf } from "../limits.ts";
import type { Owner } from "../request.ts";
import { identityOf, type AuthorIdentity } from "../server-identity.ts";
import type { TaskServer } from "../task-server.ts";
import { isStreamAnswer, TaskRequests, type Outgoing } from "./exchange.ts";
import { attend, type HttpRequest, isGone, streamSignal, webOf } from "./http-request.ts";
import { httpSettings, type FetchHandlerOptions } from "./http-options.ts";
import type { EarlierRevisions, Incoming } from "./sessions/incoming.ts";
import { internalError, notAcceptable } from "./sessions/refusals.ts";
import { acceptedForm, acceptsStreams, idToAnswer } from "./sessions/request-ids.ts";
import { Sessions } from "./sessions/sessions.ts";
import { SingleRequests } from "./sessions/requests.ts";
import { eventStream, isStream, messageEvent, OutgoingStream, sseEvents } from "./outgoing-stream.ts";
import type { Backlog, UnreadBytes } from "./unread-bytes.ts";
import { TaskListeners, isListen } from "./task-listeners.ts";
import { legacyMissingCapability, type OnError } from "../faults.ts";

/** Routes the messages of admitted requests: to our dispatcher, to the author's server, or to a session. */
export class Messages {
  readonly notify: ServerNotifier;
  readonly #server: TaskServer;
  readonly #unread: UnreadBytes;
  readonly #owners = new WeakMap<Request, Owner>();
  readonly #faults: FaultsInServing;
  readonly #sdk: ReturnType<typeof createMcpHandler>;
  /** For clients that accept no streams. */
  readonly #sdkAsJson: ReturnType<typeof createMcpHandler>;
  readonly #ours: TaskRequests;
  readonly #verdicts: Verdicts;
  readonly #listeners: TaskListeners;
  readonly #earlier: EarlierRevisions;
  readonly #endNews: () => void;

  constructor(server: TaskServer, options: FetchHandlerOptions, maxBytes: number, unread: UnreadBytes) {
    this.#server = server;
    this.#unread = unread;
    this.#faults = new FaultsInServing(server.onError);
    const make: McpServerFactory = ({ requestInfo, ...context }) => {
      const owner = requestInfo === undefined ? undefined : this.#owners.get(requestInfo);
      // Never serve a request as nobody's because its owner was lost on the way.
      if (owner === undefined || requestInfo === undefined) throw new Error("The request has no owner.");
      return this.#faults.reportedElsewhere(server.create({ ...context, requestInfo }, owner));
    };
    const sdkOptions = {
      legacy: "reject",
      maxRequestBodySize: maxBytes,
      maxSubscriptions: Infinity, // streams are counted where it is known whose they are
      onerror: this.#faults.onSdkError,
    } as const;
    this.#sdk = createMcpHandler(make, sdkOptions);
    this.#sdkAsJson = unwarned(() => createMcpHandler(make, { ...sdkOptions, responseMode: "json" }));
    this.notify = this.#sdk.notify;
    this.#endNews = server.onListChange(() => this.notify.toolsChanged());
    this.#ours = new TaskRequests(server, unread);
    this.#verdicts = new Verdicts(() => server.verdictServer(), maxBytes);
    const settings = httpSettings(options);
    this.#listeners = new TaskListeners(server, unread, settings.maxListens);
    const answerForm = options.enableJsonResponse === true ? "json" : undefined;
    this.#earlier =
      options.sessions === false
        ? new SingleRequests(server, unread, answerForm)
        : new Sessions({
            server,
            clock: server.clock,
            unread,
            answerForm,
            ...settings,
          });
  }

  get asking(): number {
    return this.#earlier.asking;
  }

  /** A message that is right beyond doubt is answered as it is; of all others, the SDK says what is wrong. */
  answer(incoming: Incoming): Promise<Outgoing> {
    const { request, body, owner } = incoming;
    if (!this.#isExact(body, request)) {
      return this.#earlier.poll?.(incoming) ?? this.#answer(incoming, false);
    }
    const identity = this.#server.identity.known(owner.principal);
    if (identity === undefined || !this.#server.dispatcher.owns(body.method, body.params))
      return this.#answer(incoming, true);
    return this.#begin(body, incoming, identity);
  }

  async #answer(incoming: Incoming, exact: boolean): Promise<Outgoing> {
    const { request, body, owner } = incoming;
    if (!exact && (await isOfEarlierRevision(request, body))) return this.#earlier.fetch(incoming);
    if (isRequest(body) && this.#server.dispatcher.owns(body.method, body.params)) {
      const refused = exact ? undefined : await this.#verdicts.refusal(webOf(request), body, owner.authInfo);
      return refused ?? this.#answerOurs(body, incoming);
    }
    const authInfo = owner.authInfo === undefined ? {} : { authInfo: owner.authInfo };
    const accept = request.headers.get("accept");
    if (exact && isRequest(body) && isListenForTasks(body) && acceptsStreams(accept))
      return this.#listen(body, incoming);
    const web = webOf(request);
    this.#owners.set(web, owner);
    const listens = isListen(request);
    const sdk = !listens && acceptedForm(accept) === "json" ? this.#sdkAsJson : this.#sdk;
    const forward = (parsedBody: unknown): Promise<Response> =>
      this.#faults.during(() => sdk.fetch(web, { ...authInfo, parsedBody }));
    if (listens) {
      if (!acceptsStreams(accept)) return notAcceptable("Client must accept text/event-stream");
      return this.#traced(body, () => this.#listeners.serve(request, owner, body, forward));
    }
    const response = await forward(body);
    const amend = isRequest(body) ? this.#server.amendmentFor(body.method, body.params) : undefined;
    if (amend !== undefined) return this.#counted(await amended(response, amend), incoming);
    return this.#counted(
      this.#server.legacyErrorCodes ? await withStatusOfLegacyCode(response) : response,
      incoming,
    );
  }

  async close(): Promise<void> {
    this.#endNews();
    this.#listeners.close();
    this.#ours.close();
    await Promise.all([this.#sdk.close(), this.#sdkAsJson.close(), this.#earlier.close()]);
  }

  #isExact(body: unknown, { headers }: HttpRequest): body is ExactMessage {
    if (!isExact(body) || !headersRepeat(body, (name) => headers.get(name))) return false;
    return body.method !== "tools/call" || !this.#server.declaresHeaders(body.params["name"]);
  }

  /** Everything that the author's server sends besides its answer is written whether its client reads or not. */
  #counted(response: Response, { request, owner }: Incoming): Outgoing {
    const { body } = response;
    if (body === null || !isStream(response)) return response;
    const count = (cut: () => void): Backlog => this.#unread.open(shareOf(owner), cut);
    const stream = new OutgoingStream({ signal: streamSignal(request), count });
    stream.relay(body);
    return eventStream(stream);
  }

  /** Answers a listen request, whose span ends with its stream. */
  async #traced(body: unknown, respond: () => Promise<Outgoing>): Promise<Outgoing> {
    const trace = isRequest(body) ? this.#server.tracing?.begin(body, "http") : undefined;
    const answer = await respond();
    if (trace === undefined) return answer;
    if (isStreamAnswer(answer)) {
      answer.stream.whenPassedOn((isRead) => (isRead ? trace.answered({ result: {} }) : trace.cancelled()));
    } else if (answer instanceof Response) {
      trace.answered({ error: errorIn(await answer.clone().json()) });
    }
    return answer;
  }

  /** Answers a listen request for nothing but tasks. */
  async #listen(message: ExactMessage, incoming: Incoming): Promise<Outgoing> {
    const { request, owner } = incoming;
    const identity = this.#server.identity.known(owner.principal) ?? (await this.#learnt(incoming));
    if (identity === undefined) return internalError(message.id);
    const meta = { [SERVER_INFO_META_KEY]: identity.serverInfo };
    return this.#traced(message, () =>
      this.#listeners.serveTasks(message, owner, streamSignal(request), meta),
    );
  }

  /** The name and version of the author's server; undefined if none could be made, which was reported. */
  async #learnt({ request, owner }: Incoming): Promise<AuthorIdentity | undefined> {
    const { authInfo } = owner;
    const sender = authInfo === undefined ? {} : { authInfo };
    const context = { era: "modern" as const, requestInfo: webOf(request), ...sender };
    try {
      return await this.#server.identity.learn(owner.principal, async () =>
        identityOf(await this.#server.create(context, owner)),
      );
    } catch {
      return undefined;
    }
  }

  async #answerOurs(message: ExactMessage, incoming: Incoming): Promise<Outgoing> {
    const { principal } = incoming.owner;
    const identity = this.#server.identity.known(principal) ?? (await this.#learnt(incoming));
    return identity === undefined
      ? internalError(idToAnswer(message))
      : this.#begin(message, incoming, identity);
  }

  #begin(message: ExactMessage, { request, owner }: Incoming, identity: AuthorIdentity): Promise<Outgoing> {
    // A call begins work; for the other methods, the question costs more than the answer.
    if (message.method === "tools/call" && isGone(request)) return Promise.resolve(undefined);
    const exchange = this.#ours.begin(message, owner, identity, request);
    attend(request, exchange);
    return exchange.begun();
  }
}

function isListenForTasks(message: ExactMessage): boolean {
  return message.method === listenMethod && listensToTasksOnly(message);
}

function isRequest(body: unknown): body is ExactMessage {
  return isJsonObject(body) && typeof body["method"] === "string" && body["id"] !== undefined;
}

/** A client without sessions has no streams to GET, and no session to DELETE: the SDK answers that. */
async function isOfEarlierRevision(request: HttpRequest, body: unknown): Promise<boolean> {
  const version = request.headers.get("mcp-protocol-version");
  if (version !== null && !hasSessions(version) && request.method !== "POST") return false;
  return isLegacyRequest(webOf(request), body);
}

/** The SDK knows the missing-capability error under its new number only; under the old one it is a 400 too. */
export async function withStatusOfLegacyCode(response: Response): Promise<Response> {
  const { status, headers } = response;
  if (status !== 200 || !headers.get("content-type")?.startsWith("application/json")) return response;
  const text = await response.text();
  return new Response(text, { status: hasLegacyCode(text) ? 400 : status, headers });
}

function hasLegacyCode(text: string): boolean {
  // Most answers are told apart without parsing them.
  if (!text.includes(String(legacyMissingCapability))) return false;
  const message: unknown = JSON.parse(text);
  const error = isJsonObject(message) ? message["error"] : undefined;
  return isJsonObject(error) && error["code"] === legacyMissingCapability;
}

/** `response` of the SDK with another result in it; what has none stays as it is. */
export async function amended(
  response: Response,
  amend: (result: JsonObject) => JsonObject,
): Promise<Response> {
  const { body, status, headers } = response;
  if (body === null) return response;
  const amendMessage = (message: unknown): unknown =>
    isJsonObject(message) && isJsonObject(message["result"])
      ? { ...message, result: amend(message["result"]) }
      : message;
  if (!isStream(response)) {
    return Response.json(amendMessage(await response.json()), { status, headers });
  }
  const events = async function* (): AsyncGenerator<Uint8Array> {
    for await (const { bytes, message } of sseEvents(body.getReader())) {
      yield isJsonObject(message) && "result" in message
        ? messageEvent(amendMessage(message) as object)
        : bytes;
    }
  };
  return new Response(ReadableStream.from(events()), { status, headers });
}

/**
 * Lets the SDK judge a request of ours that is not certainly valid: returns the SDK's answer if it refuses the request, otherwise
 * undefined. It asks a server that lists our tools and does nothing.
 */
export class Verdicts {
  readonly #sdk: ReturnType<typeof createMcpHandler>;

  /** `make` makes such a server. */
  constructor(make: () => Promise<McpServer>, maxRequestBodySize: number) {
    this.#sdk = createMcpHandler(make, { legacy: "reject", maxRequestBodySize });
  }

  async refusal(
    request: Request,
    parsedBody: unknown,
    authInfo: AuthInfo | undefined,
  ): Promise<Response | undefined> {
    const options = authInfo === undefined ? { parsedBody } : { parsedBody, authInfo };
    const response = await this.#sdk.fetch(request, options);
    const answer: unknown = await response.clone().json();
    return isJsonObject(answer) && isAccepted(answer) ? undefined : response;
  }
}

/** It reached a handler: those of tools give a result, those of methods an internal error. */
function isAccepted({ result, error }: JsonObject): boolean {
  return result !== undefined || (isJsonObject(error) && error["code"] === -32603);
}

/** The error by which a request was refused. */
function errorIn(answer: unknown): { readonly code: number; readonly message: string } {
  const error = isJsonObject(answer) && isJsonObject(answer["error"]) ? answer["error"] : {};
  const { code, message } = error;
  return {
    code: typeof code === "number" ? code : -32603,
    message: typeof message === "string" ? message : "",
  };
}

interface Serving {
  readonly errors: Error[];
  /** The response has been made: later errors are always reported. */
  over: boolean;
}

const serving = new AsyncLocalStorage<Serving>();

/**
 * Reports the faults among the errors that the SDK emits while it serves requests. It emits refusals, which clients see, in the same way.
 * Faults are the errors of a request answered with 500 or above, and those outside of a request.
 */
export class FaultsInServing {
  readonly #onError: OnError;
  readonly #reported = new WeakSet<object>();

  constructor(onError: OnError) {
    this.#onError = onError;
  }

  /** Receives every error that the SDK emits. */
  readonly onSdkError = (error: Error): void => {
    const current = serving.getStore();
    if (current === undefined || current.over) this.#report(error);
    else current.errors.push(error);
  };

  /** What `work` rejects with is reported elsewhere. */
  async reportedElsewhere<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof Error) this.#reported.add(error);
      throw error;
    }
  }

  /** Serves one request. */
  async during(serve: () => Promise<Response>): Promise<Response> {
    const current: Serving = { errors: [], over: false };
    const response = await serving.run(current, serve);
    current.over = true;
    if (response.status >= 500) for (const error of current.errors) this.#report(error);
    return response;
  }

  #report(error: Error): void {
    if (!this.#reported.has(error)) this.#onError(error);
  }
}

/** The SDK warns whoever chooses JSON for all answers. Here only clients that accept nothing else get it. */
function unwarned<T>(make: () => T): T {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return make();
  } finally {
    console.warn = warn;
  }
}
