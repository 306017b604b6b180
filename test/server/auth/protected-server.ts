import type { Tasks } from "holdfast";
import { oauthResource, type OAuthResourceOptions } from "holdfast/auth";
import { inspect } from "node:util";
import * as z from "zod";
import { jwtVerifierBy } from "../../../src/server/auth/jwt-verifier.ts";
import { text } from "../../kit/messages.ts";
import { serve, type Setup } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";
import type { Sending } from "../../kit/stateless-client.ts";
import { audience, AuthorizationServer, keyPair } from "./authorization-server.ts";

export const metadataUrl = "https://reports.example.com/.well-known/oauth-protected-resource/mcp";

function tools(tasks: Tasks): void {
  tasks.tool("shout", { inputSchema: z.object({ word: z.string() }) }, ({ word }) => text(word));
  tasks.tool("waits", {}, async (_args, task) => (await task.sleep("long", 3_600_000), text("slept")));
}

export interface ProtectedServer {
  readonly url: string;
  readonly issuer: AuthorizationServer;
  /** What was reported to whoever runs the server, in full. */
  readonly reported: () => string;
  /** The headers of a request with a token of `sub`. */
  readonly as: (sub: string, scope?: string) => Promise<Sending & { headers: Record<string, string> }>;
  readonly close: () => Promise<void>;
  readonly session: (sub: string, scope?: string) => Promise<SessionClient>;
}

/** A server with tools that takes the tokens of an authorization server. */
export async function protectedServer(
  options: Partial<OAuthResourceOptions> = {},
  setup: Partial<Setup> = {},
): Promise<ProtectedServer> {
  const issuer = await AuthorizationServer.start(await keyPair("ES256", "one"));
  const verifier = jwtVerifierBy(issuer.clock, { issuer: issuer.issuer, audience, jwks: issuer.jwks });
  const authenticate = oauthResource({
    resource: new URL(audience),
    authorizationServers: [issuer.issuer],
    verifier,
    ...options,
  });
  const { http, errors } = await serve({ tools, http: { authenticate }, ...setup });
  const as: ProtectedServer["as"] = async (sub, scope) => ({
    headers: {
      authorization: `Bearer ${await issuer.token({ sub, ...(scope !== undefined && { scope }) })}`,
    },
  });
  return {
    url: http.url,
    issuer,
    as,
    close: () => http.close(),
    reported: () => inspect(errors, { depth: 9, showHidden: true }),
    session: async (sub, scope) => SessionClient.open(http.url, await as(sub, scope)),
  };
}
