import { serve } from "@hono/node-server";
import { requireBearerAuth } from "@modelcontextprotocol/server";
import { Hono } from "hono";
import { createFetchHandler } from "holdfast/http";
import { server, tasks, verifier } from "./reports.ts";

const authenticated = requireBearerAuth({ verifier });
const handler = createFetchHandler(server, { anonymous: "refused" }); // unauthenticated callers get 401
await tasks.start();

const app = new Hono();
app.get("/", (context) => context.text("An application of your own."));
app.on("GET", ["/healthz", "/readyz"], ({ req }) => handler.fetch(req.raw));
app.all("/mcp", async ({ req }) => {
  const authInfo = await authenticated(req.raw);
  return authInfo instanceof Response ? authInfo : handler.fetch(req.raw, { authInfo });
});

const port = Number(process.env["PORT"] ?? 3000);
const http = serve({ fetch: app.fetch, hostname: "127.0.0.1", port }, (address) => {
  console.log(`http://127.0.0.1:${address.port}/mcp`);
});

async function stop(): Promise<void> {
  await handler.close();
  http.close();
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop());
