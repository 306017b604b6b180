import { WebStandardStreamableHTTPServerTransport, type McpServer } from "@modelcontextprotocol/server";
import type { TaskServer } from "../../task-server.ts";
import { factoryContext, transportOptions, type EarlierRevisions, type Incoming } from "./incoming.ts";
import { isStream, jsonAnswer } from "./json-answer.ts";
import { internalError, methodNotAllowed } from "./refusals.ts";
import { idToAnswer, requestIds, wantsJson } from "./requests-in.ts";
import { watchedBody } from "./watched-body.ts";

/**
 * Earlier revisions without sessions: each POST has a server and a transport of its own. Nothing can be asked of the
 * client, whose answer would come to another one.
 */
export class SingleRequests implements EarlierRevisions {
  readonly #server: TaskServer;
  readonly asking = 0;
  readonly #open = new Set<McpServer>();

  constructor(server: TaskServer) {
    this.#server = server;
  }

  async fetch(incoming: Incoming): Promise<Response> {
    const { request, body, owner } = incoming;
    if (request.method !== "POST") return methodNotAllowed("POST");
    let mcp: McpServer;
    try {
      mcp = await this.#server.create(factoryContext(incoming), owner);
    } catch {
      return internalError(idToAnswer(body)); // it was reported where it failed
    }
    this.#open.add(mcp);
    const end = (): void => {
      this.#open.delete(mcp);
      mcp.close().catch(this.#server.onError);
    };
    try {
      const transport = new WebStandardStreamableHTTPServerTransport();
      await mcp.connect(transport);
      const response = await transport.handleRequest(request, transportOptions(incoming));
      if (response.body === null || !isStream(response)) {
        end();
        return response;
      }
      const watched = watchedBody(response.body, request.signal, end);
      const [id] = requestIds(body);
      if (id !== undefined && wantsJson(body)) return await jsonAnswer(response, watched, id);
      return new Response(watched, { status: response.status, headers: response.headers });
    } catch (error) {
      end();
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((mcp) => mcp.close()));
  }
}
