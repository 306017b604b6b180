// A server whose tool makes an artifact: node server.ts PLACE. It prints its URL, how far the artifact is, and how its memory grows.
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { z } from "zod";
import { storeAt } from "../places/store-at.ts";
import { content } from "./content.ts";
import { tellGrowth } from "./memory.ts";
import { tell } from "./tell.ts";

const [place = ""] = process.argv.slice(2);

const tasks = createTasks({
  store: storeAt(place, { leaseMs: 2_000 }),
  crashBackoffMs: 10,
  pollIntervalMs: 50,
  rates: { pollsPerInterval: null, maxLoopDelayMs: null, callsPerMinute: null },
});
const inputSchema = z.object({ bytes: z.number() });
tasks.tool("export", { inputSchema, onCrash: "resume" }, async ({ bytes }, task) => {
  const half = bytes / 2;
  const data = async function* () {
    let at = 0;
    for (const chunk of content(bytes)) {
      if (at < half && at + chunk.length >= half) tell({ half: task.attempt });
      at += chunk.length;
      yield chunk;
    }
  };
  return { content: [await task.artifact("data.bin", data)] };
});
const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "exports", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 0), anonymous: "shared" },
);
tell({ url: http.url });
process.on("message", () => tellGrowth());
process.on("SIGTERM", () => void http.close());
