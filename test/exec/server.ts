// A server whose tool runs a program: node server.ts PORT DATABASE FOLDER. Killed again and again, on the same files.
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type ExecOptions } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

const [port = "0", database = "tasks.db", folder = "."] = process.argv.slice(2);
const tasks = createTasks({
  store: sqliteStore(database),
  execFolder: `${folder}/exec`,
  rates: { maxLoopDelayMs: null }, // the machine may be busy
  maxCrashes: 1_000, // one that begins again may be killed each time
  crashBackoffMs: 0,
  maxCrashBackoffMs: 0,
});
const program = fileURLToPath(new URL("./program.sh", import.meta.url));

tasks.tool(
  "run",
  {
    inputSchema: z.object({
      name: z.string(),
      lines: z.number(),
      code: z.number(),
      onCrash: z.enum(["adopt", "restart"]),
      timeoutMs: z.number().optional(),
    }),
    onCrash: "resume",
  },
  async ({ name, lines, code, onCrash, timeoutMs }, task) => {
    const args = [folder, name, String(lines), String(code)];
    const options: ExecOptions = {
      onCrash,
      successCodes: [code],
      killAfterMs: 200,
      ...(timeoutMs && { timeoutMs }),
    };
    const { exitCode, stdout } = await task.exec("work", program, args, options);
    return { content: [{ type: "text", text: JSON.stringify({ exitCode, stdout }) }] };
  },
);

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "exec", version: "1.0.0" })),
  {
    port: Number(port),
  },
);
process.on("SIGTERM", () => void http.close().then(() => process.exit()));
process.stdout.write(`${http.url}\n`);
