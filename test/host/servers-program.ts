// The servers of an agent, on fixed ports, which may be killed. Arguments: their folder and three ports. Each effect is a line in effects.log, with the
// key by which a service would recognise a repeat.
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

const [folder = "", ...ports] = process.argv.slice(2);
const inputSchema = z.object({ input: z.string() });
const done = (input: string) => ({ content: [{ type: "text" as const, text: `done: ${input}.` }] });

function effect(input: string, key: string): void {
  appendFileSync(join(folder, "effects.log"), `${input}\t${key}\n`);
}

async function serve(
  name: string,
  port: number,
  add: (tasks: Tasks) => void,
  addPlain?: (server: McpServer) => void,
): Promise<void> {
  const tasks = createTasks({ store: sqliteStore(join(folder, `${name}.db`)), pollIntervalMs: 50 });
  add(tasks);
  const factory = () => {
    const server = new McpServer({ name, version: "1.0.0" });
    addPlain?.(server);
    return server;
  };
  await serveHttp(tasks.server(factory), { port, anonymous: "shared" });
}

const [slow = 0, asking = 0, plain = 0] = ports.map(Number);
await serve("slow", slow, (tasks) =>
  tasks.tool("work", { inputSchema, onCrash: "resume" }, async ({ input }, task) => {
    await task.sleep("wait", 200);
    await task.step("effect", ({ idempotencyKey }) => effect(input, idempotencyKey));
    return done(input);
  }),
);
await serve("asking", asking, (tasks) =>
  tasks.tool("confirm", { inputSchema, onCrash: "resume" }, async ({ input }, task) => {
    const answer = await task.elicit("sure", {
      message: `Do ${input}?`,
      requestedSchema: { type: "object", properties: { yes: { type: "boolean" } } },
    });
    await task.step("effect", ({ idempotencyKey }) => effect(input, idempotencyKey));
    return answer.action === "accept" ? done(input) : { content: [], isError: true };
  }),
);
const annotations = { readOnlyHint: true };
await serve(
  "plain",
  plain,
  () => undefined,
  (server) => server.registerTool("look", { inputSchema, annotations }, async ({ input }) => done(input)),
);
process.stdout.write("ready\n");
