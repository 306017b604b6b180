import { bearerAuthChallengeResponse, verifyBearerToken } from "@modelcontextprotocol/server";
import { fastify, type RouteHandlerMethod } from "fastify";
import { createNodeHandler } from "holdfast/http";
import { server, tasks, verifier } from "./reports.ts";

const handler = createNodeHandler(server, { anonymous: "refused" }); // unauthenticated callers get 401
await tasks.start();

const app = fastify({ bodyLimit: 5 * 1024 * 1024, forceCloseConnections: true });
app.addHook("preClose", () => handler.close()); // before Fastify waits for its connections
app.get("/", () => "An application of your own.");
const answer: RouteHandlerMethod = (request, reply) => {
  reply.hijack();
  handler(request.raw, reply.raw, { parsedBody: request.body });
};
app.get("/healthz", answer);
app.get("/readyz", answer);
await app.register(async (mcp) => {
  // For every request to this route: a path has many forms, so do not compare paths.
  mcp.addHook("onRequest", async ({ headers, raw }, reply) => {
    try {
      // On raw, where the handler looks for it.
      Object.assign(raw, { auth: await verifyBearerToken(headers.authorization, { verifier }) });
    } catch (error) {
      await reply.send(bearerAuthChallengeResponse(error));
    }
  });
  mcp.all("/mcp", answer);
});

const origin = await app.listen({ host: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) });
console.log(`${origin}/mcp`);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void app.close());
