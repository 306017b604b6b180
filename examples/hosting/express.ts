import type { AddressInfo } from "node:net";
import { requireBearerAuth } from "@modelcontextprotocol/express";
import express from "express";
import { createNodeHandler } from "holdfast/http";
import { server, tasks, verifier } from "./reports.ts";

const handler = createNodeHandler(server, { anonymous: "refused" }); // unauthenticated callers get 401
await tasks.start();

const app = express();
app.use("/mcp", requireBearerAuth({ verifier })); // sets req.auth
app.use(express.json({ limit: "5mb" })); // sets req.body
app.use(handler); // answers /mcp, /healthz and /readyz, and passes on the rest
app.get("/", (_, response) => void response.send("An application of your own."));

const http = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
});

async function stop(): Promise<void> {
  await handler.close();
  http.close();
  http.closeAllConnections(); // a slow client would keep the process alive
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop());
