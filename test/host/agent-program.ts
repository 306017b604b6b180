// An agent with a scripted model: calls tools of three servers, is killed, comes back, and ends when its conversation has all results.
// Arguments: its folder, a port of its servers, and the number of calls.
import { generateText, isStepCount, type ModelMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createTasks } from "holdfast";
import { aiTools, withResult } from "holdfast/ai-sdk";
import { connectAll } from "holdfast/host";
import { sqliteStore } from "holdfast/sqlite";
import { appendFile, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { callsOf, missingIn, type Servers } from "./agent-conversation.ts";

const [folder = "", given = "{}", count = "1"] = process.argv.slice(2);
const servers = JSON.parse(given) as Servers;
const calls = callsOf(Number(count));
const file = join(folder, "messages.json");

const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const isFirst = prompt.every(({ role }) => role !== "assistant");
    await appendFile(join(folder, "turns.log"), "turn\n");
    return {
      content: isFirst
        ? calls.map(({ id, tool, args }) => ({
            type: "tool-call",
            toolCallId: id,
            toolName: tool,
            input: JSON.stringify(args),
          }))
        : [{ type: "text", text: "They have started." }],
      finishReason: { unified: isFirst ? "tool-calls" : "stop", raw: undefined },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
      warnings: [],
    };
  },
});

async function save(messages: readonly ModelMessage[]): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(messages));
  await rename(`${file}.new`, file);
}

const host = await connectAll({
  tasks: createTasks({ store: sqliteStore(join(folder, "host.db")), onError: () => undefined }),
  servers,
  policy: ({ server }) => ({ mode: server === "plain" ? "wait" : "background" }),
  onInput: async () => ({ action: "accept", content: { yes: true } }),
  onError: () => undefined,
});
const conversation = host.conversation("chat-1");
process.stdout.write("ready\n");

let messages = await readFile(file, "utf8").then(
  (text) => JSON.parse(text) as ModelMessage[],
  (): ModelMessage[] => [{ role: "user", content: "Go" }],
);
if (messages.length === 1) {
  const { responseMessages } = await generateText({
    model,
    messages,
    tools: aiTools(conversation),
    stopWhen: isStepCount(5),
  });
  messages.push(...responseMessages);
  await save(messages);
}
if (missingIn(messages, calls).length > 0) {
  for await (const message of conversation.inbox()) {
    messages = withResult(messages, message);
    await save(messages);
    if (missingIn(messages, calls).length === 0) break;
  }
}
await host.close();
process.stdout.write("done\n");
