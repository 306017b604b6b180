import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { oauthResource, type OAuthResourceOptions } from "holdfast/auth";
import type { Tasks } from "holdfast";
import * as z from "zod";
import { text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { OAuthServer, type Offers } from "./oauth-server.ts";

export interface Protected {
  readonly url: string;
  readonly oauth: OAuthServer;
}

function tools(tasks: Tasks): void {
  tasks.tool("shout", { inputSchema: z.object({ word: z.string() }) }, ({ word }) =>
    text(word.toUpperCase()),
  );
  tasks.tool("waits", {}, async (_args, task) => (await task.sleep("long", 3_600_000), text("slept")));
}

/** A server with tools, and the authorization server that it names. */
export async function protectedBy(
  offers: Offers = {},
  options: Partial<OAuthResourceOptions> = {},
): Promise<Protected> {
  const oauth = await OAuthServer.start(offers);
  const port = await freePort();
  const resource = new URL(`http://127.0.0.1:${port}/mcp`);
  const authenticate = oauthResource({
    resource,
    authorizationServers: [oauth.issuer],
    verifier: oauth,
    ...options,
  });
  const { http } = await serve({ tools, http: { authenticate, port } });
  return { url: http.url, oauth };
}

/** The metadata names the port before the server has it. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
