import {
  AIMessage,
  HumanMessage,
  ToolMessage,
  type BaseMessage,
  type MessageContent,
} from "@langchain/core/messages";
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonObject } from "../generation/message.ts";
import { foreignSchema } from "../runtime/tool/schema.ts";
import type { Conversation, InboxMessage } from "./conversation.ts";
import { endedNotice, partsOf, placeOf, textOf } from "./for-models.ts";

/**
 * The tools of a conversation for agents of LangChain and LangGraph. Each call has the id that the model gave it, so that a turn that runs again
 * after a crash gets the results of its calls. A tool whose policy says `approve` asks the `approve` of the host. Call it for each turn: it has the
 * tools of now.
 *
 * ```ts
 * const agent = createReactAgent({ llm, tools: langchainTools(host.conversation("chat-17")) });
 * ```
 */
export function langchainTools(conversation: Conversation): DynamicStructuredTool[] {
  return conversation.tools.map(
    ({ name, description, inputSchema }) =>
      new DynamicStructuredTool({
        name,
        description,
        schema: shownOnly(inputSchema),
        func: async (args: Record<string, unknown>, _run, config) => {
          const called = (config as { readonly toolCall?: { readonly id?: string } } | undefined)?.toolCall
            ?.id;
          const { id, result, isBackground } = await conversation.call(name, args, {
            id: called,
            signal: config?.signal,
          });
          if (called === undefined || called === "") return contentOf(result);
          return toolMessage(isBackground ? `${idOf(id)}-started` : idOf(id), { id, tool: name, result });
        },
      }),
  );
}

/** LangChain would run the patterns of a plain schema, which others have written. The host checks what is called. */
function shownOnly(inputSchema: JsonObject): JsonObject {
  return { ...foreignSchema(inputSchema) };
}

/** The id of the message with the result of a call. */
function idOf(callId: string): string {
  return `holdfast-${callId}`;
}

function toolMessage(
  id: string,
  { id: callId, tool, result }: Pick<InboxMessage, "id" | "tool" | "result">,
): ToolMessage {
  return new ToolMessage({
    id,
    tool_call_id: callId,
    name: tool,
    content: contentOf(result),
    artifact: result,
    status: result.isError === true ? "error" : "success",
  });
}

function contentOf(result: CallToolResult): MessageContent {
  const parts = partsOf(result);
  if (parts.every(({ type }) => type === "text")) return textOf(result);
  return parts.map((part) => {
    if (part.type === "text") return part;
    const kind = /^(image|audio)\//.exec(part.mediaType)?.[1] ?? "file";
    return { type: kind, source_type: "base64", mime_type: part.mediaType, data: part.data };
  });
}

/**
 * The messages with the result of a call, which is added once however often it comes: as the result of the call, if that has none, otherwise as a
 * message of the user that says which call has ended. The ids of added messages are always the same, so that a state of LangGraph takes the whole list.
 *
 * ```ts
 * for await (const message of conversation.inbox()) {
 *   const { values } = await graph.getState(thread);
 *   await graph.updateState(thread, { messages: withResult(values.messages, message) });
 * }
 * ```
 */
export function withResult(messages: readonly BaseMessage[], message: InboxMessage): BaseMessage[] {
  const { id, tool, args, result } = message;
  const isAnswered = messages.some((each) => ToolMessage.isInstance(each) && each.tool_call_id === id);
  const isCalled = messages.some(
    (each) => AIMessage.isInstance(each) && each.tool_calls?.some((call) => call.id === id) === true,
  );
  const isTold = messages.some((each) => each.id === idOf(id));
  const place = placeOf({ ...message, isCalled, isAnswered, isTold });
  if (place === undefined) return [...messages];
  if (place === "call") return [...messages, toolMessage(idOf(id), message)];
  return [...messages, new HumanMessage({ id: idOf(id), content: endedNotice(id, tool, args, result) })];
}
