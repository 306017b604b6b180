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
        responseFormat: "content_and_artifact",
        func: async (args: Record<string, unknown>, _run, config) => {
          const id = (config as { readonly toolCall?: { readonly id?: string } } | undefined)?.toolCall?.id;
          const { result } = await conversation.call(name, args, { id, signal: config?.signal });
          return [contentOf(result), result];
        },
      }),
  );
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
export function messageOf({ id, tool, args, isBackground, result }: InboxMessage): BaseMessage {
  const name = `holdfast-${id}`;
  if (isBackground) return new HumanMessage({ id: name, content: endedNotice(id, tool, args, result) });
  const status = result.isError === true ? "error" : "success";
  return new ToolMessage({ id: name, tool_call_id: id, name: tool, content: contentOf(result), status });
}
