// An agent with a scripted model: calls tools of three servers, is killed, comes back, and ends when its conversation has all results.
// Arguments: the framework, its folder, its servers, and the number of calls.
import { createTasks } from "holdfast";
import { connectAll } from "holdfast/host";
import { sqliteStore } from "holdfast/sqlite";
import { appendFileSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { agents, callsOf, type Framework, type Servers } from "./scripted-agents.ts";

const [framework = "", folder = "", given = "{}", count = "1"] = process.argv.slice(2);
const agent = agents[framework as Framework];
const file = join(folder, "history.json");

async function save(messages: readonly unknown[]): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(messages));
  await rename(`${file}.new`, file);
}

const host = await connectAll({
  tasks: createTasks({ store: sqliteStore(join(folder, "host.db")), onError: () => undefined }),
  servers: JSON.parse(given) as Servers,
  policy: ({ server }) => ({ mode: server === "plain" ? "wait" : "background" }),
  onInput: async () => ({ action: "accept", content: { yes: true } }),
  onError: () => undefined,
});
const conversation = host.conversation("chat-1");
process.stdout.write("ready\n");

let history = await readFile(file, "utf8").then(
  (text) => JSON.parse(text) as unknown[],
  () => undefined,
);
if (history === undefined) {
  if (conversation.tools.length < 3) process.exit(); // a server is away, and models call only what they are offered
  const onModel = (): void => appendFileSync(join(folder, "turns.log"), "turn\n");
  history = await agent.turn(conversation, callsOf(Number(count)), onModel);
  await save(history);
}
for await (const message of conversation.inbox({ untilIdle: true })) {
  history = agent.add(history, message);
  await save(history);
}
await host.close();
