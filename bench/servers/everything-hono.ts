// The everything server through its fetch handler under Hono.
import { serve } from "@hono/node-server";
import { createFetchHandler } from "holdfast/http";
import { Hono } from "hono";
import { Changes } from "../../test/everything/base/changes.ts";
import { everything } from "../../test/everything/serve-everything.ts";
import { readSettings } from "../../test/everything/settings.ts";

const server = everything(readSettings(process.env), new Changes());
const handler = createFetchHandler(server, { anonymous: "shared" });
await server.start();

const app = new Hono();
app.all("/mcp", ({ req }) => handler.fetch(req.raw));
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => {
  process.stdout.write(`http://127.0.0.1:${port}/mcp\n`);
});
process.on("SIGTERM", () => {
  void server.stop().then(() => process.exit(0));
});
