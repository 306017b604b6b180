import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import express from "express";
import { makeServer } from "./reports-before.ts";

const app = express();
app.all("/mcp", toNodeHandler(createMcpHandler(makeServer)));
const http = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const address = http.address();
  if (typeof address === "object") console.log(`http://127.0.0.1:${address?.port}/mcp`);
});
