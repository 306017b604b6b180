import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { oauthResource } from "holdfast/auth";
import { createNodeHandler } from "holdfast/http";
import { server, tasks, verifier } from "./reports.ts";

const handler = createNodeHandler(server, {
  authenticate: oauthResource({
    resource: new URL("http://localhost:3000/mcp"),
    authorizationServers: ["https://login.example.com"],
    verifier,
  }),
});
await tasks.start(); // continues the tasks of the previous process, and fails if the store cannot be opened

// Set connection limits on the server itself.
const limits = { headersTimeout: 15_000, requestTimeout: 60_000, maxHeaderSize: 16 * 1024 };
const http = createServer(limits, (request, response) => {
  handler(request, response, () => response.writeHead(404).end("An application of your own."));
});
http.maxConnections = 10_000;
http.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
});

async function stop(): Promise<void> {
  await handler.close(); // requests in flight end, then the tasks stop
  http.close();
  http.closeAllConnections(); // a slow client would keep the process alive
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop());
