import { oauthResource } from "holdfast/auth";
import { serveHttp } from "holdfast/http";
import { server, verifier } from "./reports.ts";

const { HOST = "127.0.0.1", PORT = "3000", PUBLIC_URL = "https://reports.example.com/mcp" } = process.env;
const resource = new URL(PUBLIC_URL);

const http = await serveHttp(server, {
  host: HOST,
  port: Number(PORT),
  allowedHosts: [resource.hostname], // the host name that clients send, passed on by the proxy
  authenticate: oauthResource({ resource, authorizationServers: ["https://login.example.com"], verifier }),
});
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void http.close());
