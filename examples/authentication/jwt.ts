import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { jwtVerifier, oauthResource } from "holdfast/auth";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";

const issuer = process.env["ISSUER"] ?? "https://login.example.com";
const resource = new URL("https://reports.example.com/mcp");

const tasks = createTasks({ store: sqliteStore("tasks.db") });
tasks.tool("send_report", {}, async () => ({ content: [{ type: "text", text: "sent" }] }));

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" })),
  {
    port: Number(process.env["PORT"] ?? 3000),
    authenticate: oauthResource({
      resource,
      authorizationServers: [issuer],
      verifier: jwtVerifier({
        issuer,
        audience: resource.href,
        jwks: new URL("/.well-known/jwks.json", issuer),
      }),
      scopes: {
        tools: { send_report: ["reports:send"] },
        tasks: ["reports:tasks"],
      },
    }),
  },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void http.close());
