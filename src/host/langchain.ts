import { HumanMessage, ToolMessage, type BaseMessage, type MessageContent } from "@langchain/core/messages";
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { Conversation, InboxMessage } from "./conversation.ts";
import { endedNotice, partsOf, textOf } from "./for-models.ts";

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
        schema: inputSchema,
        func: async (args: Record<string, unknown>, _run, config) => {
          const called = (config as { readonly toolCall?: { readonly id?: string } } | undefined)?.toolCall
            ?.id;
          const { id, result, isBackground } = await conversation.call(name, args, {
            id: called,
            signal: config?.signal,
          });
          if (called === undefined) return contentOf(result);
          return toolMessage(isBackground ? `${idOf(id)}-started` : idOf(id), { id, tool: name, result });
        },
      }),
  );
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
 * A message for the conversation with the result of a call: that of the tool, if the model has not been told that it runs in the background. Its id
 * is always the same, so that a state of LangGraph (`MessagesAnnotation`) has it once however often it comes.
 *
 * ```ts
 * for await (const message of conversation.inbox()) {
 *   await graph.updateState(thread, { messages: [messageOf(message)] });
 * }
 * ```
 */
export function messageOf(message: InboxMessage): BaseMessage {
  const { id, tool, args, isBackground, result } = message;
  if (!isBackground) return toolMessage(idOf(id), message);
  return new HumanMessage({ id: idOf(id), content: endedNotice(id, tool, args, result) });
}
