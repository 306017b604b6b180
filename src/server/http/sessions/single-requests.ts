import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { DispatchedServer } from "../../dispatch/dispatched-server.ts";
import type { TaskServer } from "../../task-server.ts";
import type { UnreadBytes } from "../unread-bytes.ts";
import { keepAliveComment } from "../sse.ts";
import { watchedBody } from "../watched-body.ts";
import { factoryContext, transportOptions, type EarlierRevisions, type Incoming } from "./incoming.ts";
import { isStream, jsonAnswer } from "./json-answer.ts";
import { internalError, methodNotAllowed } from "./refusals.ts";
import { idToAnswer, requestIds, wantsJson } from "./requests-in.ts";

/**
 * Earlier revisions without sessions: each POST has a server and a transport of its own. Nothing can be asked of the
 * client, whose answer would come to another one.
 */
export class SingleRequests implements EarlierRevisions {
  readonly #server: TaskServer;
  readonly #unread: UnreadBytes;
  readonly asking = 0;
  readonly #open = new Set<DispatchedServer>();

  constructor(server: TaskServer, unread: UnreadBytes) {
    this.#server = server;
    this.#unread = unread;
  }

  async fetch(incoming: Incoming): Promise<Response> {
    const { request, body, owner } = incoming;
    if (request.method !== "POST") return methodNotAllowed("POST");
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
    try {
      const transport = new WebStandardStreamableHTTPServerTransport();
      await session.connect(transport);
      const response = await transport.handleRequest(request, transportOptions(incoming));
      if (response.body === null || !isStream(response)) {
        end();
        return response;
      }
      const watched = watchedBody(response.body, {
        signal: request.signal,
        count: (cut) => this.#unread.open(owner.principal, cut),
        opening: keepAliveComment, // with which adapters send the headers
        onEnd: end,
      });
      const [id] = requestIds(body);
      if (id !== undefined && wantsJson(body)) return await jsonAnswer(response, watched, id);
      return new Response(watched, { status: response.status, headers: response.headers });
    } catch (error) {
      end();
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((session) => session.close()));
  }
}
