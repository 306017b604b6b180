import { requireBearerAuth } from "@modelcontextprotocol/express";
import { McpServer, type OAuthClientInformationFull } from "@modelcontextprotocol/server";
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthRouter,
  ProxyOAuthServerProvider,
  type OAuthRegisteredClientsStore,
} from "@modelcontextprotocol/server-legacy/auth";
import express from "express";
import { createTasks } from "holdfast";
import { introspectionVerifier } from "holdfast/auth";
import { createNodeHandler } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";

const { ISSUER = "https://login.example.com", INTROSPECTION_SECRET, PORT = "3000" } = process.env;
if (INTROSPECTION_SECRET === undefined)
  throw new Error("Set INTROSPECTION_SECRET to the secret of this server.");
const resource = new URL(process.env["PUBLIC_URL"] ?? "https://reports.example.com/mcp");
const upstream = (path: string): string => new URL(path, ISSUER).href;

const verifier = introspectionVerifier({
  url: new URL("/introspect", ISSUER),
  clientId: "reports",
  clientSecret: INTROSPECTION_SECRET,
  issuer: ISSUER,
  audience: resource.href,
  maxAgeMs: 0, // refuses a revoked token at once
});

// Keep them in a database: the proxy redirects browsers only to addresses that a client has registered.
const clients = new Map<string, OAuthClientInformationFull>();

class Proxy extends ProxyOAuthServerProvider {
  override get clientsStore(): OAuthRegisteredClientsStore {
    const store = super.clientsStore;
    return {
      getClient: (id) => store.getClient(id),
      async registerClient(client) {
        const registered = await store.registerClient?.(client);
        if (registered === undefined) throw new Error("There is no registrationUrl.");
        clients.set(registered.client_id, registered);
        return registered;
      },
    };
  }
}

const provider = new Proxy({
  endpoints: {
    authorizationUrl: upstream("/authorize"),
    tokenUrl: upstream("/token"),
    revocationUrl: upstream("/revoke"),
    registrationUrl: upstream("/register"),
  },
  verifyAccessToken: async (token) => verifier.verifyAccessToken(token),
  getClient: async (id) => clients.get(id),
});

const tasks = createTasks({ store: sqliteStore("tasks.db") });
tasks.tool("send_report", {}, async (_args, task) => ({
  content: [{ type: "text", text: `sent for ${String(task.caller.claims["sub"])}` }],
}));
const server = tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" }));
const handler = createNodeHandler(server, { allowedHosts: [resource.hostname], anonymous: "refused" });
await tasks.start();

const app = express();
app.use(mcpAuthRouter({ provider, issuerUrl: new URL(resource.origin), resourceServerUrl: resource }));
const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resource);
app.use("/mcp", requireBearerAuth({ verifier, resourceMetadataUrl })); // sets req.auth
app.use(handler);

const http = app.listen(Number(PORT), "127.0.0.1", () => console.log(resource.href));
async function stop(): Promise<void> {
  await handler.close();
  http.close();
  http.closeAllConnections();
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop());
