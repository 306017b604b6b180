import { bearerAuthChallengeResponse, verifyBearerToken } from "@modelcontextprotocol/server";
import { fastify } from "fastify";
import { createNodeHandler } from "holdfast/http";
import { server, tasks, verifier } from "./reports.ts";

const handler = createNodeHandler(server);
await tasks.start();

const app = fastify({ bodyLimit: 5 * 1024 * 1024 });
app.addHook("preClose", () => handler.close()); // before Fastify waits for its connections
app.get("/", () => "An application of your own.");
await app.register(async (mcp) => {
  mcp.addHook("onRequest", async ({ url, headers, raw }, reply) => {
    if (url !== "/mcp") return;
    try {
      // To raw, where the handler looks for it.
      Object.assign(raw, { auth: await verifyBearerToken(headers.authorization, { verifier }) });
    } catch (error) {
      await reply.send(bearerAuthChallengeResponse(error));
    }
  });
  for (const path of ["/mcp", "/healthz", "/readyz"]) {
    mcp.all(path, (request, reply) => {
      reply.hijack();
      handler(request.raw, reply.raw, { parsedBody: request.body });
    });
  }
});

const origin = await app.listen({ host: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) });
console.log(`${origin}/mcp`);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void app.close());
