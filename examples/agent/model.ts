import type { LanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";

/**
 * The model that `AGENT_MODEL` names at the AI SDK's gateway, such as `anthropic/claude-sonnet-5`, with its key in `AI_GATEWAY_API_KEY`. Without it, a
 * script: it starts the three tools at once, and says what it was told.
 */
export const model: LanguageModel = process.env["AGENT_MODEL"] ?? scripted();

function scripted(): LanguageModel {
  const calls = [
    { toolName: "build__compile", input: { target: "web" } },
    { toolName: "build__test", input: {} },
    { toolName: "shop__release", input: { version: "2" } },
  ];
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const hasCalled = prompt.some(({ role }) => role === "tool");
      const isDone = prompt.filter(({ role }) => role === "user").length > calls.length;
      const text = isDone
        ? "All three have ended. That was all."
        : "I have started three tools, and go on when they end.";
      return {
        content: hasCalled
          ? [{ type: "text", text }]
          : calls.map(({ toolName, input }, index) => ({
              type: "tool-call",
              toolCallId: `call-${index + 1}`,
              toolName,
              input: JSON.stringify(input),
            })),
        finishReason: { unified: hasCalled ? "stop" : "tool-calls", raw: undefined },
        usage,
        warnings: [],
      };
    },
  });
}
