import {
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  isInitializeRequest,
  isJsonContentType,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import type { Clock } from "../../../runtime/clock.ts";
import { isPrincipal, PerPrincipal, type Share, shareOf } from "../../limits.ts";
import { protocolVersions } from "../../../generation/generations.ts";
import {
  batchRefused,
  internalError,
  invalidMessage,
  methodNotAllowed,
  notAcceptable,
  notInitialized,
  oneInitialization,
  sameIdTwice,
  sessionMissing,
  unsupportedMediaType,
} from "./refusals.ts";
import { acceptedForm, type AnswerForm, idToAnswer, isPoll, requestIds } from "./request-ids.ts";
import { type DispatchedServer, isRequest } from "../../dispatch/dispatch-transport.ts";
import { noSession, type Streams } from "../../streams.ts";
import type { SessionDispatcher } from "../../sessions/session-dispatcher.ts";
import type { TaskServer } from "../../task-server.ts";
import { answerText, type Outgoing } from "../exchange.ts";
import type { HttpRequest } from "../http-request.ts";
import type { UnreadBytes } from "../unread-bytes.ts";
import { type EarlierRevisions, extraInfo, factoryContext, type Incoming } from "./incoming.ts";
import { SessionStreams } from "./session-streams.ts";
import { SessionTransport } from "./session-transport.ts";

/** Of all principals together; beyond it, the principal with most loses its oldest early. */
const mostBroken = 10_000;

export interface BrokenRequestsSetup {
  readonly clock: Clock;
  /** How long a client may take to resume, in ms. */
  readonly resumeMs: number;
  /** Of one principal; beyond it, its oldest are lost early. */
  readonly maxPerPrincipal: number;
  readonly max?: number;
}

interface Broken {
  readonly lose: () => void;
}

/** Requests whose connections broke, while their clients may still resume. */
export class BrokenRequests {
  readonly #setup: BrokenRequestsSetup;
  readonly #broken = new PerPrincipal<Broken>();

  constructor(setup: BrokenRequestsSetup) {
    this.#setup = setup;
  }

  get size(): number {
    return this.#broken.size;
  }

  /** Calls `lost` once if the client does not resume in time; returns a function that ends the wait. */
  add(share: Share, lost: () => void): () => void {
    const { clock, resumeMs, maxPerPrincipal, max = mostBroken } = this.#setup;
    const end = (): void => {
      cancelTimer();
      this.#broken.remove(share, broken);
    };
    const lose = (): void => {
      end();
      lost();
    };
    const cancelTimer = clock.after(resumeMs, lose);
    const broken: Broken = { lose };
    this.#broken.add(share, broken);
    const own = this.#broken.of(share);
    const tooMany = isPrincipal(share) && own.size > maxPerPrincipal ? own : undefined;
    const [oldest] = tooMany ?? (this.#broken.size > max ? this.#broken.largest : []);
    oldest?.lose();
    return end;
  }
}

const firstWithoutBatches = "2025-06-18";

/**
 * The messages of a POST, or its refusal. `body` is the parsed JSON, and `agreed` the protocol version of the session;
 * without one, the header says it.
 */
export function readPost(
  { headers }: HttpRequest,
  body: unknown,
  agreed?: string,
): readonly JSONRPCMessage[] | Response {
  if (acceptedForm(headers.get("accept")) === undefined) {
    return notAcceptable(
      "Client must accept application/json, or both application/json and text/event-stream",
    );
  }
  if (!isJsonContentType(headers.get("content-type"))) return unsupportedMediaType();
  const version = agreed ?? headers.get("mcp-protocol-version") ?? DEFAULT_NEGOTIATED_PROTOCOL_VERSION;
  if (Array.isArray(body) && !takesBatches(version)) return batchRefused(version);
  const ids = Array.isArray(body) ? requestIds(body) : [];
  if (new Set(ids).size < ids.length) return sameIdTwice();
  try {
    return (Array.isArray(body) ? body : [body]).map(parseJSONRPCMessage);
  } catch {
    return invalidMessage();
  }
}

/** The messages of a POST that opens a session, or its refusal: nothing else comes without a session. */
export function readHandshake(request: HttpRequest, body: unknown): readonly JSONRPCMessage[] | Response {
  const messages = readPost(request, body);
  if (messages instanceof Response) return messages;
  if (messages.some(isInitializeRequest)) return messages.length === 1 ? messages : oneInitialization();
  // One with invalid params.
  return messages.some((message) => "method" in message && message.method === "initialize")
    ? notInitialized()
    : sessionMissing();
}

/** An unknown version is refused as such later on. */
function takesBatches(version: string): boolean {
  return version < firstWithoutBatches || !protocolVersions.includes(version);
}

/**
 * Earlier revisions without sessions: each POST has its own server and transport. The client cannot be asked anything, because its answer
 * would reach another server.
 */
export class SingleRequests implements EarlierRevisions {
  readonly #server: TaskServer;
  readonly #unread: UnreadBytes;
  readonly asking = 0;
  readonly #answerForm: AnswerForm | undefined;
  readonly #open = new Set<DispatchedServer>();

  /** `answerForm`: left out if each request chooses. */
  constructor(server: TaskServer, unread: UnreadBytes, answerForm?: AnswerForm) {
    this.#server = server;
    this.#unread = unread;
    this.#answerForm = answerForm;
  }

  async fetch(incoming: Incoming): Promise<Outgoing> {
    const { request, body, owner } = incoming;
    if (request.method !== "POST") return methodNotAllowed("POST");
    const messages = readPost(request, body);
    if (messages instanceof Response) return messages;
    const share = shareOf(owner);
    const streams = { ...noSession, reserve: this.#unread.reserveFor(share) };
    const polled = await this.#poll(incoming, streams);
    if (polled !== undefined) return polled;
    let session: DispatchedServer<SessionDispatcher>;
    try {
      session = await this.#server.openSession(factoryContext(incoming), owner, streams);
    } catch {
      return internalError(idToAnswer(body)); // it was reported where it failed
    }
    this.#open.add(session);
    const end = (): void => {
      this.#open.delete(session);
      session.close().catch(this.#server.onError);
    };
    let carried = false;
    const transport = new SessionTransport({
      streams: new SessionStreams(),
      answerForm: this.#answerForm,
      count: (cut) => this.#unread.open(share, cut),
      isSettled: (...asked) => session.dispatcher.isSettled(...asked),
      onConnection: (connection) => {
        carried = true;
        connection.whenEnded(end);
      },
    });
    try {
      await session.connect(transport);
      return (await transport.refusal(incoming, messages)) ?? (await transport.post(messages, incoming));
    } finally {
      if (!carried) end();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((session) => session.close()));
  }

  /** The answer to a poll that is ours, without a server of the author's. */
  async #poll(incoming: Incoming, streams: Streams): Promise<Outgoing> {
    const { request, body, owner } = incoming;
    const version = request.headers.get("mcp-protocol-version");
    if (version !== null && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) return undefined;
    if (!isPoll(body) || !isRequest(body)) return undefined;
    const answer = await this.#server.poll(body, owner, streams, extraInfo(incoming));
    return answer && { status: 200, json: answerText(body.id, answer) };
  }
}
