import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { McpServer } from "@modelcontextprotocol/server";
import { SSEServerTransport } from "@modelcontextprotocol/server-legacy/sse";
import { onTestFinished } from "vitest";
import type { OAuthServer } from "../auth/oauth-server.ts";

export interface LegacyServer {
  readonly url: URL;
  /** Each HTTP request, with its JSON-RPC method. */
  readonly seen: readonly Seen[];
  /** Ends all streams, and with them the sessions. */
  dropStreams(): void;
  stop(): Promise<void>;
}

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
}

interface Options {
  /** How a POST at the URL of the stream is answered. */
  readonly postStatus?: number;
  /** Without it, requests are answered with 401. */
  readonly token?: string;
  /** Who checks the tokens of streams and messages, and no others. */
  readonly oauth?: OAuthServer;
}

/** A server that has the HTTP+SSE transport of 2024-11-05 alone, by the package of the SDK's makers. */
export async function serveLegacy(
  makeServer: () => McpServer,
  { postStatus = 404, token, oauth }: Options = {},
): Promise<LegacyServer> {
  const transports = new Map<string, SSEServerTransport>();
  const seen: Seen[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const { method = "", headers } = request;
    seen.push({ method, path: pathname, authorization: headers.authorization });
    if (token !== undefined && headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401).end();
    } else if (pathname === "/of-the-resource") {
      const document = { resource: `http://${headers.host}/sse`, authorization_servers: [oauth?.issuer] };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
    } else if (`${method} ${pathname}` !== "POST /sse" && !(await isGood(headers.authorization, oauth))) {
      const metadata = `http://${headers.host}/of-the-resource`;
      response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` }).end();
    } else if (pathname === "/messages" && method === "POST") {
      const transport = transports.get(searchParams.get("sessionId") ?? "");
      if (transport === undefined) response.writeHead(404).end("No such session");
      else await transport.handlePostMessage(request, response);
    } else if (pathname === "/sse" && method === "GET") {
      const transport = new SSEServerTransport("/messages", response);
      transports.set(transport.sessionId, transport);
      response.on("close", () => transports.delete(transport.sessionId));
      await makeServer().connect(transport);
    } else {
      response.writeHead(postStatus).end("<html>Cannot POST</html>");
    }
  };
  const http = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  const stop = async (): Promise<void> => {
    http.closeAllConnections();
    if (!http.listening) return;
    http.close();
    await once(http, "close");
  };
  onTestFinished(stop);
  return {
    url: new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`),
    seen,
    dropStreams: () => http.closeAllConnections(),
    stop,
  };
}

async function isGood(authorization: string | undefined, oauth: OAuthServer | undefined): Promise<boolean> {
  if (oauth === undefined) return true;
  const verified = oauth.verifyAccessToken(authorization?.replace("Bearer ", "") ?? "");
  return verified.then(
    () => true,
    () => false,
  );
}
