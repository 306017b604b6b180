import { durable } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { makeServer } from "./reports.ts";

const server = durable(makeServer, { store: sqliteStore("tasks.db") });
const http = await serveHttp(server, { port: Number(process.env["PORT"] ?? 3000) });
console.log(http.url);
