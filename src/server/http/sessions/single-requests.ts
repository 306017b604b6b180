import { SUPPORTED_PROTOCOL_VERSIONS, isJSONRPCRequest } from "@modelcontextprotocol/server";
import type { DispatchedServer } from "../../dispatch/dispatched-server.ts";
import { shareOf } from "../../per-principal.ts";
import type { TaskServer } from "../../task-server.ts";
import { answerText, type Outgoing } from "../exchange.ts";
import type { UnreadBytes } from "../unread-bytes.ts";
import { extraInfo, factoryContext, type EarlierRevisions, type Incoming } from "./incoming.ts";
import { readPost } from "./read-post.ts";
import { internalError, methodNotAllowed } from "./refusals.ts";
import { idToAnswer, isPoll, type AnswerForm } from "./requests-in.ts";
import { SessionStreams } from "./session-streams.ts";
import { SessionTransport } from "./session-transport.ts";

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
    const polled = await this.#poll(incoming);
    if (polled !== undefined) return polled;
    let session: DispatchedServer;
    try {
      session = await this.#server.openSession(factoryContext(incoming), owner);
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
      count: (cut) => this.#unread.open(shareOf(owner), cut),
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
  async #poll(incoming: Incoming): Promise<Outgoing> {
    const { request, body, owner } = incoming;
    const version = request.headers.get("mcp-protocol-version");
    if (version !== null && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) return undefined;
    if (!isPoll(body) || !isJSONRPCRequest(body)) return undefined;
    const answer = await this.#server.poll(body, owner, extraInfo(incoming));
    return answer && { status: 200, json: answerText(body.id, answer) };
  }
}
