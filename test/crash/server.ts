// The server that the crash suite kills. It writes to a log what it does outside the journal, so that the suite can
// tell afterwards what ran twice: `run` as a step begins, `kept` once its result is known to be in the journal.
import { appendFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type TaskContext } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

const [database = "", logFile = ""] = process.argv.slice(2);

function log(event: string, task: TaskContext, key: string, value = ""): void {
  appendFileSync(logFile, `${JSON.stringify({ event, task: task.id, key, value })}\n`);
}

/** A step whose result nobody could guess, so that only the journal can give it back. */
async function secretStep(task: TaskContext, key: string): Promise<string> {
  const value = await task.step(key, async () => {
    log("run", task, key);
    await pause(Math.random() * 4);
    return randomUUID();
  });
  log("kept", task, key, value);
  return value;
}

const tasks = createTasks({
  store: sqliteStore(database),
  pollIntervalMs: 50,
  crashBackoffMs: 10,
  maxCrashes: 1_000,
});

const counted = { inputSchema: z.object({ count: z.number() }) };

tasks.tool("steps", { ...counted, onCrash: "resume" }, async ({ count }, task) => {
  const values: string[] = [];
  for (let n = 0; n < count; n++) values.push(await secretStep(task, `step ${n}`));
  return { content: [{ type: "text", text: values.join(" ") }] };
});

tasks.tool("parallel", { ...counted, onCrash: "resume" }, async ({ count }, task) => {
  const values = await Promise.all(Array.from({ length: count }, (_, n) => secretStep(task, `step ${n}`)));
  return { content: [{ type: "text", text: values.join(" ") }] };
});

const requestedSchema = { type: "object" as const, properties: { word: { type: "string" as const } } };

tasks.tool("asks", { requires: ["elicitation"], onCrash: "resume" }, async (_, task) => {
  const before = await secretStep(task, "before");
  const { content } = await task.elicit("word", { message: "Which word?", requestedSchema });
  const word = String(content?.["word"]);
  log("answered", task, "word", word);
  const after = await secretStep(task, "after");
  return { content: [{ type: "text", text: `${before} ${word} ${after}` }] };
});

tasks.tool("once", {}, async (_, task) => {
  log("run", task, "whole");
  await pause(Math.random() * 20);
  return { content: [{ type: "text", text: randomUUID() }] };
});

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "crash", version: "1.0.0" })),
  { port: 0 },
);
process.stdout.write(`${http.url}\n`);
