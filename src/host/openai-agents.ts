import { type AgentInputItem, type FunctionTool, tool as functionTool } from "@openai/agents-core";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { Conversation, InboxMessage } from "./conversation.ts";
import { endedNotice, partsOf, placeOf, textOf } from "./for-models.ts";
import { HoldfastError } from "../task/fault.ts";

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
  return conversation.tools.map((each) => {
    // As it is now: the SDK asks by it, and a policy that demands more when the call is made is asked for by the host. If it was a function, the SDK
    // would interrupt the run for arguments that are no object, too.
    const asks = conversation.policyOf(each).approve === true;
    return functionTool({
      name: each.name,
      description: each.description,
      parameters: each.inputSchema as never,
      strict: false,
      needsApproval: asks,
      execute: async (args, _context, details) => {
        const { result } = await conversation.call(each.name, args, {
          id: details?.toolCall?.callId,
          isApproved: asks,
          signal: details?.signal,
        });
        return outputOf(result);
      },
      // Of all else a model is told, as by other tools: the run goes on.
      errorFunction: (_context, error) => {
        if (isStopping(error)) throw error;
        return `Error: ${error instanceof Error ? error.message : String(error)}`;
      },
    });
  });
}

/** The host has closed: the call goes on when it is there again, and so does the run. */
function isStopping(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "stopping";
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
