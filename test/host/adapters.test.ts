import { generateText, isStepCount, type ModelMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { DynamicStructuredTool } from "@langchain/core/tools";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import {
  Agent,
  Runner,
  type AgentInputItem,
  type Model,
  type ModelResponse,
  Usage,
} from "@openai/agents-core";
import { createTasks } from "holdfast";
import { aiTools, withResult as withAiResult } from "holdfast/ai-sdk";
import { connectAll, type InboxMessage, type ToolPolicy } from "holdfast/host";
import { langchainTools, withResult as withLangChainResult } from "holdfast/langchain";
import { mastraTools } from "holdfast/mastra";
import { memoryStore } from "holdfast/memory";
import { openaiTools, withResult as withOpenaiResult } from "holdfast/openai-agents";
import { expect, onTestFinished, test, vi } from "vitest";
import { sourceOf, text } from "./source.ts";

const picture = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" } as const;

type Chat = Awaited<ReturnType<typeof chatWith>>["chat"];

async function chatWith(policy: ToolPolicy = {}) {
  const runs: unknown[] = [];
  const host = await connectAll({
    tasks: createTasks({ store: memoryStore(), stopDeadlineMs: 0 }),
    policy: () => policy,
    servers: {
      build: sourceOf("build", {
        compile: async (args) => {
          runs.push(args);
          return text("compiled");
        },
        draw: async () => ({ content: [{ type: "text", text: "here" }, picture] }),
        drawn: async () => ({ content: [picture], isError: true }),
        broken: async () => {
          throw new Error("no disk");
        },
      }),
    },
  });
  onTestFinished(async () => host.close());
  return { chat: host.conversation("chat-1"), runs };
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that calls these tools at once, and then says what it was told. */
function aiModel(...calls: readonly string[]) {
  const prompts: unknown[] = [];
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      prompts.push(prompt);
      const isFirst = prompts.length === 1;
      return {
        content: isFirst
          ? calls.map((toolName, index) => ({
              type: "tool-call",
              toolCallId: `call-${index}`,
              toolName,
              input: '{"input":"web"}',
            }))
          : [{ type: "text", text: "done" }],
        finishReason: { unified: isFirst ? "tool-calls" : "stop", raw: undefined },
        usage,
        warnings: [],
      };
    },
  });
  return { model, prompts };
}

test("AI SDK: an agent calls tools, gets text, files and errors, and a repeated turn joins its calls", async () => {
  const { chat, runs } = await chatWith();
  for (let turn = 0; turn < 2; turn++) {
    const { model, prompts } = aiModel("build__compile", "build__draw", "build__drawn", "build__broken");
    const { text: said } = await generateText({
      model,
      prompt: "build",
      tools: aiTools(chat),
      stopWhen: isStepCount(5),
    });
    expect(said).toBe("done");
    const told = JSON.stringify(prompts.at(-1));
    expect(told).toContain('{"type":"text","value":"compiled"}');
    expect(told).toContain("image/png");
    expect(told).toContain("no disk");
    expect(told).toContain('{"type":"error-text","value":"[image/png, 8 bytes]"}');
  }
  expect(runs).toEqual([{ input: "web" }]);
});

test("AI SDK: a call that needs approval is left to the SDK", async () => {
  const { chat, runs } = await chatWith({ approve: true });
  const { model } = aiModel("build__compile");
  const { content } = await generateText({ model, prompt: "build", tools: aiTools(chat) });
  expect(content.map(({ type }) => type)).toContain("tool-approval-request");
  expect(runs).toEqual([]);
});

test.each([
  ["AI SDK", async (chat: Chat) => aiTools(chat)["build__compile"]],
  ["Mastra", async (chat: Chat) => mastraTools(chat)["build__compile"]],
])(
  "%s: a policy that comes to demand an approval after the tools were made asks the host",
  async (_, toolOf) => {
    const policy: { approve?: boolean } = {};
    const { chat, runs } = await chatWith(policy);
    const tool = await toolOf(chat);
    policy.approve = true;
    const execute = tool?.execute as (input: object, options: object) => Promise<unknown>;
    expect(await execute({ input: "web" }, { toolCallId: "call-1", messages: [] })).toMatchObject({
      isError: true,
    });
    expect(runs).toEqual([]);
  },
);

async function messagesOf(chat: Chat): Promise<InboxMessage> {
  for await (const message of chat.inbox()) return message;
  throw new Error("The inbox has ended");
}

test("AI SDK: a result is added once, as a message or as the result of its call", async () => {
  const { chat } = await chatWith({ mode: "background" });
  const { model } = aiModel("build__compile");
  const { responseMessages } = await generateText({
    model,
    prompt: "build",
    tools: aiTools(chat),
    stopWhen: isStepCount(5),
  });
  const before: ModelMessage[] = [{ role: "user", content: "build" }, ...responseMessages];
  expect(JSON.stringify(before)).toContain("runs in the background");

  const message = await messagesOf(chat);
  const once = withAiResult(before, message);
  expect(once.at(-1)).toMatchObject({ role: "user", content: expect.stringContaining("compiled") as string });
  expect(withAiResult(once, message)).toEqual(once);

  const cut = before.filter(({ role }) => role !== "tool");
  const answered = withAiResult(cut, { ...message, isBackground: false });
  expect(answered.at(-1)).toMatchObject({ role: "tool", content: [{ toolCallId: "call-0" }] });
  expect(withAiResult(answered, { ...message, isBackground: false })).toEqual(answered);
});

test("LangChain: tools are called by the ids of their calls, and messages have one id", async () => {
  const { chat, runs } = await chatWith();
  const tools = new Map(langchainTools(chat).map((tool) => [tool.name, tool]));
  const call = async (name: string, id: string): Promise<ToolMessage> => {
    const given = { type: "tool_call", id, name, args: { input: "web" } } as const;
    const [asked] = new AIMessage({ content: "", tool_calls: [given] }).tool_calls ?? [];
    return (await tools.get(name)?.invoke({ ...given, ...asked })) as ToolMessage;
  };
  const result = await call("build__compile", "call-1");
  expect(result).toBeInstanceOf(ToolMessage);
  expect(result).toMatchObject({ content: "compiled", tool_call_id: "call-1" });
  await call("build__compile", "call-1");
  expect(runs).toEqual([{ input: "web" }]);
  expect(JSON.stringify((await call("build__draw", "call-2")).content)).toContain("image/png");
  expect((await call("build__broken", "call-3")).content).toContain("no disk");

  await chat.call("build__compile", { input: "app" }, { id: "call-4", mode: "background" });
  const message = await messagesOf(chat);
  const started = [
    new AIMessage({ content: "", tool_calls: [{ id: "call-4", name: "build__compile", args: {} }] }),
  ];
  const told = withLangChainResult(
    [...started, new ToolMessage({ tool_call_id: "call-4", content: "started" })],
    message,
  );
  expect(told.at(-1)).toMatchObject({
    id: "holdfast-call-4",
    content: expect.stringContaining("compiled") as string,
  });
  expect(withLangChainResult(told, message)).toEqual(told);
  // The agent died before it stored what it was told.
  const answered: BaseMessage[] = withLangChainResult(started, message);
  expect(answered.at(-1)).toBeInstanceOf(ToolMessage);
  expect(withLangChainResult(answered, message)).toEqual(answered);
});

/** As `aiModel`. */
function openaiModel(...calls: readonly string[]) {
  return openaiModelWith('{"input":"web"}', ...calls);
}

function openaiModelWith(args: string, ...calls: readonly string[]): { model: Model; inputs: unknown[] } {
  const inputs: unknown[] = [];
  const getResponse = async ({ input }: { input: unknown }): Promise<ModelResponse> => {
    inputs.push(input);
    const asks = inputs.length === 1;
    return {
      usage: new Usage(),
      output: asks
        ? calls.map((name, index) => ({
            type: "function_call",
            callId: `call-${index}`,
            name,
            status: "completed",
            arguments: args,
          }))
        : [
            {
              type: "message",
              role: "assistant",
              status: "completed",
              content: [{ type: "output_text", text: "done" }],
            },
          ],
    };
  };
  const model: Model = {
    getResponse,
    getStreamedResponse: () => {
      throw new Error("not streamed");
    },
  };
  return { model, inputs };
}

const runner = new Runner({ tracingDisabled: true });

test("OpenAI Agents: an agent calls tools, gets text, files and errors, and a repeated turn joins its calls", async () => {
  const { chat, runs } = await chatWith();
  for (let turn = 0; turn < 2; turn++) {
    const { model, inputs } = openaiModel("build__compile", "build__draw", "build__drawn", "build__broken");
    const agent = new Agent({ name: "builder", model, tools: openaiTools(chat) });
    const { finalOutput } = await runner.run(agent, "build");
    expect(finalOutput).toBe("done");
    const told = JSON.stringify(inputs.at(-1));
    expect(told).toContain("compiled");
    expect(told).toContain("iVBORw0KGgo=");
    expect(told).toContain("no disk");
  }
  expect(runs).toEqual([{ input: "web" }]);
});

test.each(["", "{nope", "[1]", '"web"', JSON.stringify({ input: "x".repeat(5_000_000) })])(
  "OpenAI Agents: a model is told of arguments that are wrong, and its run goes on (%#)",
  async (args) => {
    const { chat, runs } = await chatWith();
    const { model, inputs } = openaiModelWith(args, "build__compile");
    const { finalOutput } = await runner.run(
      new Agent({ name: "builder", model, tools: openaiTools(chat) }),
      "build",
    );
    expect(finalOutput).toBe("done");
    expect(JSON.stringify((inputs.at(-1) as unknown[]).at(-1))).toMatch(/error|larger than/i);
    expect(runs).toEqual([]);
  },
);

test("OpenAI Agents: a run ends with its host, and not with what a model makes of that", async () => {
  const host = await connectAll({
    tasks: createTasks({ store: memoryStore(), stopDeadlineMs: 0 }),
    servers: { build: sourceOf("build", { compile: async () => host.close().then(() => text("never")) }) },
  });
  const { model, inputs } = openaiModel("build__compile");
  const tools = openaiTools(host.conversation("chat-1"));
  await expect(runner.run(new Agent({ name: "builder", model, tools }), "build")).rejects.toThrow(
    "The host is closed",
  );
  expect(inputs).toHaveLength(1);
});

test("OpenAI Agents: approval interrupts the run, and a result is added once", async () => {
  const careful = await chatWith({ approve: true });
  const asking = new Agent({
    name: "builder",
    model: openaiModel("build__compile").model,
    tools: openaiTools(careful.chat),
  });
  expect((await runner.run(asking, "build")).interruptions).toHaveLength(1);
  expect(careful.runs).toEqual([]);

  const { chat } = await chatWith({ mode: "background" });
  const agent = new Agent({
    name: "builder",
    model: openaiModel("build__compile").model,
    tools: openaiTools(chat),
  });
  const before: AgentInputItem[] = (await runner.run(agent, "build")).history;
  const message = await messagesOf(chat);
  const once = withOpenaiResult(before, message);
  expect(once.at(-1)).toMatchObject({ role: "user", content: expect.stringContaining("compiled") as string });
  expect(withOpenaiResult(once, message)).toEqual(once);
  const cut = before.filter(({ type }) => type !== "function_call_result");
  const answered = withOpenaiResult(cut, { ...message, isBackground: false });
  expect(answered.at(-1)).toMatchObject({ type: "function_call_result", callId: "call-0" });
  expect(withOpenaiResult(answered, message)).toEqual(answered);
});

test("LangChain: a pattern that another server has written is shown to models, and does not run here", async () => {
  const { chat } = await chatWith();
  const inputSchema = { type: "object", properties: { input: { type: "string", pattern: "^(a+)+$" } } };
  const [listed] = chat.tools;
  if (listed === undefined) throw new Error("There are no tools");
  const shown = Object.create(chat, { tools: { value: [{ ...listed, inputSchema }] } }) as Chat;
  vi.spyOn(shown, "call").mockImplementation(async (...args) => chat.call(...args));
  const [tool] = langchainTools(shown);
  expect(convertToOpenAITool(tool as DynamicStructuredTool)).toMatchObject({
    function: { parameters: inputSchema },
  });
  expect(await tool?.invoke({ input: `${"a".repeat(60)}!` })).toBe("compiled");
});
