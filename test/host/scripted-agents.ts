import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { FakeChatModel } from "@langchain/core/utils/testing";
import type { ChatResult } from "@langchain/core/outputs";
import { messagesStateReducer } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { Agent, Runner, type AgentInputItem, Usage } from "@openai/agents-core";
import { generateText, isStepCount, type ModelMessage } from "ai";
import { MockLanguageModelV3, MockLanguageModelV4 } from "ai/test";
import { aiTools, withResult as withAiResult } from "holdfast/ai-sdk";
import { runMastra } from "../peers/clients/mastra-agent.ts";
import type { Conversation, HostOptions, InboxMessage } from "holdfast/host";
import { langchainTools, withResult as withLangChainResult } from "holdfast/langchain";
import { mastraTools, messageOf as mastraMessageOf } from "holdfast/mastra";
import { openaiTools, withResult as withOpenaiResult } from "holdfast/openai-agents";

export type Servers = HostOptions["servers"];

export interface Call {
  readonly id: string;
  readonly tool: string;
  readonly args: { readonly input: string };
}

/** Calls of tools of three servers in turn. */
export function callsOf(count: number): readonly Call[] {
  const tools = ["slow__work", "asking__confirm", "plain__look"] as const;
  return Array.from({ length: count }, (_, index) => ({
    id: `call-${index}`,
    tool: tools[index % tools.length] ?? tools[0],
    args: { input: `item ${index}` },
  }));
}

/** An agent of a framework, whose model makes these calls at once and then ends its turn. `history` is plain JSON. */
interface ScriptedAgent {
  /** Runs the model from the beginning, until its turn has ended. */
  turn(conversation: Conversation, calls: readonly Call[], onModel: () => void): Promise<unknown[]>;
  /** The history with a result of the inbox. */
  add(history: readonly unknown[], message: InboxMessage): unknown[];
  /** What the model reads of the history. */
  read(history: readonly unknown[]): readonly unknown[];
}

/** What a model of the AI SDK answers to a prompt. */
function generated(prompt: readonly { readonly role: string }[], calls: readonly Call[]) {
  const isFirst = prompt.every(({ role }) => role !== "assistant");
  return {
    content: isFirst
      ? calls.map(({ id, tool, args }) => ({
          type: "tool-call" as const,
          toolCallId: id,
          toolName: tool,
          input: JSON.stringify(args),
        }))
      : [{ type: "text" as const, text: "They have started." }],
    finishReason: { unified: isFirst ? ("tool-calls" as const) : ("stop" as const), raw: undefined },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
    warnings: [],
  };
}

const aiSdk: ScriptedAgent = {
  async turn(conversation, calls, onModel) {
    const model = new MockLanguageModelV4({
      doGenerate: async ({ prompt }) => {
        onModel();
        return generated(prompt, calls);
      },
    });
    const tools = aiTools(conversation);
    const { responseMessages } = await generateText({ model, prompt: "Go", tools, stopWhen: isStepCount(5) });
    return [{ role: "user", content: "Go" }, ...responseMessages];
  },
  add: (history, message) => withAiResult(history as ModelMessage[], message),
  read: (history) => history,
};

const mastra: ScriptedAgent = {
  async turn(conversation, calls, onModel) {
    const model = new MockLanguageModelV3({
      doGenerate: async ({ prompt }) => {
        onModel();
        return generated(prompt, calls);
      },
    });
    return [{ role: "user", content: "Go" }, ...(await runMastra(mastraTools(conversation), model, "Go"))];
  },
  add(history, message) {
    const told = mastraMessageOf(message);
    const isKnown = history.some((each) => (each as { id?: string }).id === told.id);
    return message.isBackground && !isKnown ? [...history, told] : [...history];
  },
  // What Mastra passes to the model stands in its messages twice.
  read: (history) =>
    JSON.parse(
      JSON.stringify(history, (key, value: unknown) => (key === "providerOptions" ? undefined : value)),
    ) as unknown[],
};

const openai: ScriptedAgent = {
  async turn(conversation, calls, onModel) {
    let turns = 0;
    const output = (): AgentInputItem[] =>
      turns++ === 0
        ? calls.map(({ id, tool, args }) => ({
            type: "function_call",
            callId: id,
            name: tool,
            status: "completed",
            arguments: JSON.stringify(args),
          }))
        : [
            {
              type: "message",
              role: "assistant",
              status: "completed",
              content: [{ type: "output_text", text: "They have started." }],
            },
          ];
    const agent = new Agent({
      name: "agent",
      tools: openaiTools(conversation),
      model: {
        getResponse: async () => {
          onModel();
          return { usage: new Usage(), output: output() };
        },
        getStreamedResponse: () => {
          throw new Error("not streamed");
        },
      },
    });
    return (await new Runner({ tracingDisabled: true }).run(agent, "Go")).history;
  },
  add: (history, message) => withOpenaiResult(history as AgentInputItem[], message),
  read: (history) => history,
};

/** The model of a LangGraph agent. */
class ScriptedChatModel extends FakeChatModel {
  readonly #calls: readonly Call[];
  readonly #onModel: () => void;

  constructor(calls: readonly Call[], onModel: () => void) {
    super({});
    this.#calls = calls;
    this.#onModel = onModel;
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    this.#onModel();
    const isFirst = messages.every((message) => message.getType() !== "ai");
    const calls = this.#calls.map(({ id, tool, args }) => ({
      id,
      name: tool,
      args,
      type: "tool_call" as const,
    }));
    const message = new AIMessage(
      isFirst ? { content: "", tool_calls: calls } : { content: "They have started." },
    );
    return { generations: [{ text: "", message }] };
  }
}

const langGraph: ScriptedAgent = {
  async turn(conversation, calls, onModel) {
    const llm = new ScriptedChatModel(calls, onModel);
    const agent = createReactAgent({ llm, tools: langchainTools(conversation) });
    const { messages } = await agent.invoke({ messages: [new HumanMessage("Go")] });
    return mapChatMessagesToStoredMessages(messages);
  },
  add(history, message) {
    const before = mapStoredMessagesToChatMessages(history as StoredMessage[]);
    const after = messagesStateReducer(before, withLangChainResult(before, message));
    return mapChatMessagesToStoredMessages(after);
  },
  read: (history) => (history as StoredMessage[]).map(({ data }) => data.content),
};

export const agents = {
  "AI SDK": aiSdk,
  Mastra: mastra,
  "OpenAI Agents": openai,
  LangGraph: langGraph,
} as const;

export type Framework = keyof typeof agents;

/** How often the model reads the result of each call. */
export function resultsIn(
  framework: Framework,
  history: readonly unknown[],
  calls: readonly Call[],
): number[] {
  const text = JSON.stringify(agents[framework].read(history));
  return calls.map(({ args }) => text.split(`done: ${args.input}.`).length - 1);
}
