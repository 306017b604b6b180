import { dynamicTool, jsonSchema, type JSONSchema7, type ModelMessage, type ToolSet } from "ai";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { Conversation, InboxMessage } from "./conversation.ts";
import { endedNotice, partsOf, placeOf, textOf } from "./for-models.ts";

/**
 * The tools of a conversation for `generateText`, `streamText` and agents of the AI SDK. Each call has the id that the model gave it, so that a turn
 * that runs again after a crash gets the results of its calls. A tool whose policy says `approve` needs the approval of the AI SDK. Call it for each
 * turn: it has the tools of now.
 *
 * ```ts
 * const conversation = host.conversation("chat-17");
 * const { response } = await generateText({ model, messages, tools: aiTools(conversation), stopWhen: isStepCount(20) });
 * ```
 */
export function aiTools(conversation: Conversation): ToolSet {
  return Object.fromEntries(
    conversation.tools.map((tool) => {
      // As it is now: the SDK asks by it, and a policy that demands more when the call is made is asked for by the host.
      const asks = conversation.policyOf(tool).approve === true;
      const made = dynamicTool({
        ...(tool.title !== undefined && { title: tool.title }),
        description: tool.description,
        inputSchema: jsonSchema(tool.inputSchema as JSONSchema7),
        needsApproval: asks,
        execute: async (input, { toolCallId, abortSignal }) => {
          const { result } = await conversation.call(tool.name, input as Record<string, unknown>, {
            id: toolCallId,
            isApproved: asks,
            signal: abortSignal,
          });
          return result;
        },
        toModelOutput: ({ output }) => outputOf(output as CallToolResult),
      });
      return [tool.name, made];
    }),
  );
}

type ToolOutput = Extract<
  Extract<ModelMessage, { role: "tool" }>["content"][number],
  { type: "tool-result" }
>["output"];

function outputOf(result: CallToolResult): ToolOutput {
  const parts = partsOf(result);
  if (result.isError === true) return { type: "error-text", value: textOf(result) };
  if (parts.every(({ type }) => type === "text")) return { type: "text", value: textOf(result) };
  return {
    type: "content",
    value: parts.map((part) =>
      part.type === "text"
        ? part
        : {
            type: "file",
            mediaType: part.mediaType,
            data: { type: "data", data: part.data },
            ...(part.name !== undefined && { filename: part.name }),
          },
    ),
  };
}

/**
 * The messages with the result of a call, which is added once however often it comes: as the result of the call, if that has none, otherwise as
 * a message of the user that says which call has ended.
 *
 * ```ts
 * for await (const message of conversation.inbox()) {
 *   messages = withResult(messages, message);
 *   await save(messages);
 * }
 * ```
 */
export function withResult(messages: readonly ModelMessage[], message: InboxMessage): ModelMessage[] {
  const { id, tool, args, result } = message;
  const parts = messages.flatMap(({ content }) => (typeof content === "string" ? [] : [...content]));
  const isAnswered = parts.some((part) => part.type === "tool-result" && part.toolCallId === id);
  const isCalled = parts.some((part) => part.type === "tool-call" && part.toolCallId === id);
  const isTold = messages.some(({ providerOptions }) => providerOptions?.["holdfast"]?.["endOf"] === id);
  const place = placeOf({ ...message, isCalled, isAnswered, isTold });
  if (place === undefined) return [...messages];
  if (place === "call") {
    const content = {
      type: "tool-result",
      toolCallId: id,
      toolName: tool,
      output: outputOf(result),
    } as const;
    return [...messages, { role: "tool", content: [content], providerOptions: { holdfast: { endOf: id } } }];
  }
  const content = endedNotice(id, tool, args, result);
  return [...messages, { role: "user", content, providerOptions: { holdfast: { endOf: id } } }];
}
