import { generateText, isStepCount, type ModelMessage } from "ai";
import { createTasks } from "holdfast";
import { aiTools, withResult } from "holdfast/ai-sdk";
import { connectAll } from "holdfast/host";
import { sqliteStore } from "holdfast/sqlite";
import { model } from "./model.ts";
import { askUser, loadChat, saveChat, say, servers, textOf } from "./terminal.ts";

const host = await connectAll({
  tasks: createTasks({ store: sqliteStore("agent.db") }),
  servers,
  policy: () => ({ mode: "background" }),
  onInput: ({ params }) => askUser(String(params["message"])),
});
const conversation = host.conversation("chat-1");

let messages: ModelMessage[] = await loadChat();
if (messages.length === 0) messages = [{ role: "user", content: "Compile, test and release version 2." }];

/** One turn of the model, with the tools of now. */
async function turn(): Promise<void> {
  const tools = aiTools(conversation);
  const { text, responseMessages } = await generateText({ model, messages, tools, stopWhen: isStepCount(5) });
  messages = [...messages, ...responseMessages];
  await saveChat(messages);
  say("agent", text);
}

// Unless an earlier process has died in this turn, after its calls had begun.
if (messages.length === 1 && (await conversation.calls()).length === 0) await turn();
// No model runs while the tools do. What an earlier process has left comes too.
for await (const message of conversation.inbox({ untilIdle: true })) {
  messages = withResult(messages, message);
  await saveChat(messages);
  say(message.tool, textOf(message.result));
}
await turn();
await host.close();
