import type { AgentInputItem, FunctionTool } from "@openai/agents-core";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { Conversation, InboxMessage } from "./conversation.ts";
import { endedNotice, failed, partsOf, placeOf, textOf } from "./for-models.ts";

/** A part of a result, as models of OpenAI take them. */
type OutputPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly image: { readonly data: string; readonly mediaType: string } }
  | {
      readonly type: "file";
      readonly file: { readonly data: string; readonly mediaType: string; readonly filename: string };
    };

/**
 * The tools of a conversation for agents of the OpenAI Agents SDK. Each call has the id that the model gave it, so that a turn that runs again after
 * a crash gets the results of its calls. A tool whose policy says `approve` needs the approval of the SDK, which interrupts the run. Call it for
 * each turn: it has the tools of now.
 *
 * ```ts
 * const agent = new Agent({ name: "builder", tools: openaiTools(host.conversation("chat-17")) });
 * ```
 */
export function openaiTools(conversation: Conversation): FunctionTool[] {
  /** The ids of the calls for which the SDK has asked. */
  const asked = new Set<string>();
  return conversation.tools.map((tool) => ({
    type: "function",
    name: tool.name,
    description: tool.description,
    parameters: tool.inputSchema as FunctionTool["parameters"],
    strict: false,
    needsApproval: async (_context, _input, callId) => {
      const asks = conversation.policyOf(tool).approve === true;
      if (asks && callId !== undefined) asked.add(callId);
      return asks;
    },
    isEnabled: async () => true,
    invoke: async (_context, input, details) => {
      const args = argumentsIn(input);
      if (args === undefined) return outputOf(failed("The arguments are not a JSON object."));
      const { result } = await conversation.call(tool.name, args, {
        id: details?.toolCall?.callId,
        isApproved: asked.has(details?.toolCall?.callId ?? ""),
        signal: details?.signal,
      });
      return outputOf(result);
    },
  }));
}

function argumentsIn(input: string): Record<string, unknown> | undefined {
  try {
    const args: unknown = JSON.parse(input === "" ? "{}" : input);
    return typeof args === "object" && args !== null && !Array.isArray(args) ? { ...args } : undefined;
  } catch {
    return undefined;
  }
}

function outputOf(result: CallToolResult): string | OutputPart[] {
  const parts = partsOf(result);
  if (result.isError === true) return `Error: ${textOf(result)}`;
  if (parts.every(({ type }) => type === "text")) return textOf(result);
  return parts.map((part): OutputPart => {
    if (part.type === "text") return part;
    const { data, mediaType, name = "file" } = part;
    if (mediaType.startsWith("image/")) return { type: "image", image: { data, mediaType } };
    return { type: "file", file: { data, mediaType, filename: name } };
  });
}

/**
 * The history of a run with the result of a call, which is added once however often it comes: as the result of the call, if that has none, otherwise
 * as a message of the user that says which call has ended.
 *
 * ```ts
 * for await (const message of conversation.inbox()) {
 *   history = withResult(history, message);
 *   await save(history);
 * }
 * ```
 */
export function withResult(history: readonly AgentInputItem[], message: InboxMessage): AgentInputItem[] {
  const { id, tool, args, result } = message;
  const isAnswered = history.some((item) => item.type === "function_call_result" && item.callId === id);
  const isCalled = history.some((item) => item.type === "function_call" && item.callId === id);
  const content = endedNotice(id, tool, args, result);
  const output = textOf(result);
  const isTold = history.some(
    (item) =>
      ("content" in item && item.content === content) ||
      (item.type === "function_call_result" && item.callId === id && outputIn(item) === output),
  );
  const place = placeOf({ ...message, isCalled, isAnswered, isTold });
  if (place === undefined) return [...history];
  if (place === "call") {
    const text = { type: "text", text: output } as const;
    return [
      ...history,
      { type: "function_call_result", name: tool, callId: id, status: "completed", output: text },
    ];
  }
  return [...history, { role: "user", content }];
}

function outputIn({ output }: Extract<AgentInputItem, { type: "function_call_result" }>): string | undefined {
  if (typeof output === "string") return output;
  return !Array.isArray(output) && output.type === "text" ? output.text : undefined;
}
