// One of several nodes on a Postgres database: node node.ts serve|work|both DATABASE FOLDER [LEASE]. Tells whoever started it its URL, or none, and
// sends the events that it is told to send.
import { McpServer, type CallToolResult } from "@modelcontextprotocol/server";
import { createTasks, HoldfastError, type TaskContext } from "holdfast";
import { serveHttp } from "holdfast/http";
import { postgresStore } from "holdfast/postgres";
import * as z from "zod";
import { Gates } from "../peers/gates.ts";
import type { NodeReply, SendEvent } from "./nodes.ts";

const [role = "", database = "", folder = "", lease] = process.argv.slice(2);
const gates = new Gates(folder);
const inputSchema = z.object({ word: z.string() });
const requestedSchema = { type: "object" as const, properties: { name: { type: "string" as const } } };
const text = (said: string): CallToolResult => ({ content: [{ type: "text", text: said }] });

const tasks = createTasks({
  store: postgresStore(database, lease === undefined ? {} : { leaseMs: Number(lease) }),
  roles: role === "both" ? ["serve", "work"] : [role === "serve" ? "serve" : "work"],
  crashBackoffMs: 10,
  pollIntervalMs: 50,
  rates: { pollsPerInterval: null, maxLoopDelayMs: null }, // the machine may be busy with other things
});

/** Says where a handler runs. */
function runs(word: string, task: TaskContext): void {
  gates.log(`(runs in ${process.pid}) ${word}`);
  task.signal.addEventListener("abort", () => gates.log(`(aborted) ${word}`));
}

const gated = tasks.tool(
  "gated",
  { inputSchema, outputSchema: z.object({ said: z.string() }), plain: "wait" },
  async ({ word }, task) => {
    runs(word, task);
    const first = await task.step("first", () => {
      gates.log(`first ${word}`);
      return word.toUpperCase();
    });
    gates.log(`(waits) ${word}`); // the first step is on disk
    await gates.opened(word, task.signal);
    const said = await task.step("second", () => {
      gates.log(`second ${word}`);
      return `${first} ${word}`;
    });
    return { ...text(said), structuredContent: { said } };
  },
);

const asks = tasks.tool(
  "asks",
  { inputSchema, outputSchema: z.object({ said: z.string() }), requires: ["elicitation"] },
  async ({ word }, task) => {
    runs(word, task);
    const { content } = await task.elicit("name", { message: `Whose ${word}?`, requestedSchema });
    const said = `${String(content?.["name"])}'s ${word}`;
    return { ...text(said), structuredContent: { said } };
  },
);

tasks.tool("expects", { inputSchema }, async ({ word }, task) => {
  runs(word, task);
  return text(`${word} ${await task.waitForEvent<string>("event", "told")}`);
});

tasks.tool("tree", { inputSchema, requires: ["elicitation"] }, async ({ word }, task) => {
  runs(word, task);
  const [one, two] = await Promise.all([
    task.call("gated", gated, { word: `${word}-gated` }),
    task.call("asks", asks, { word: `${word}-asked` }),
  ]);
  return text(`${one.structuredContent.said}, ${two.structuredContent.said}`);
});

function tell(reply: NodeReply): void {
  process.send?.(reply);
}

process.on("message", ({ taskId, value, dedupeId }: SendEvent) => {
  tasks.sendEvent(taskId, "told", value, { dedupeId }).then(
    (isNew) => tell({ dedupeId, sent: isNew ? "new" : "known" }),
    (error: unknown) => tell({ dedupeId, sent: error instanceof HoldfastError ? error.code : String(error) }),
  );
});
process.once("disconnect", () => process.exit(1)); // a suite that was killed leaves nothing behind

if (role === "work") {
  await tasks.start();
  tell({ url: null });
} else {
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "node", version: "1.0.0" })),
    { port: 0, anonymous: "shared", keepAliveTimeoutMs: 60_000 }, // a busy client comes back late
  );
  tell({ url: http.url });
}
