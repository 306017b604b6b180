import type { CallToolResult } from "@modelcontextprotocol/client";
import type { Conversation, InboxMessage } from "./conversation.ts";
import { endedNotice, partsOf, textOf } from "./for-models.ts";

/** What Mastra gives a tool with its input: in a form of its own, or in that of the AI SDK. */
interface ToolContext {
  readonly agent?: { readonly toolCallId?: string } | undefined;
  readonly toolCallId?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** A part of a result, as Mastra passes it to models. */
type OutputPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "media"; readonly data: string; readonly mediaType: string };

/** A tool of an agent of Mastra. */
export interface MastraTool {
  readonly id: string;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
  readonly requireApproval: boolean;
  readonly execute: (input: Record<string, unknown>, context?: ToolContext) => Promise<CallToolResult>;
  readonly toModelOutput: (
    output: CallToolResult,
  ) =>
    | { readonly type: "text" | "error-text"; readonly value: string }
    | { readonly type: "content"; readonly value: readonly OutputPart[] };
}

/**
 * The tools of a conversation for agents of Mastra. Each call has the id that the model gave it, so that a turn that runs again after a crash gets
 * the results of its calls. A tool whose policy says `approve` needs the approval of Mastra, which suspends the run. A function gives an agent the tools
 * of now.
 *
 * ```ts
 * const agent = new Agent({ id: "builder", name: "builder", instructions, model, tools: () => mastraTools(host.conversation("chat-17")) });
 * ```
 */
export function mastraTools(conversation: Conversation): Record<string, MastraTool> {
  const tools = conversation.tools.map((tool): MastraTool => {
    const { name, description, inputSchema } = tool;
    // As it is now: Mastra asks by it, and a policy that demands more when the call is made is asked for by the host.
    const asks = conversation.policyOf(tool).approve === true;
    return {
      id: name,
      description,
      inputSchema: { ...inputSchema },
      requireApproval: asks,
      execute: async (input, { agent, toolCallId = agent?.toolCallId, abortSignal } = {}) => {
        const options = { id: toolCallId, isApproved: asks, signal: abortSignal };
        return (await conversation.call(name, input, options)).result;
      },
      toModelOutput: outputOf,
    };
  });
  return Object.fromEntries(tools.map((tool) => [tool.id, tool]));
}

function outputOf(result: CallToolResult): ReturnType<MastraTool["toModelOutput"]> {
  const parts = partsOf(result);
  if (result.isError === true) return { type: "error-text", value: textOf(result) };
  if (parts.every(({ type }) => type === "text")) return { type: "text", value: textOf(result) };
  const value = parts.map((part): OutputPart => (part.type === "text" ? part : { ...part, type: "media" }));
  return { type: "content", value };
}

/**
 * A message of the user that says which call has ended, for the memory of the agent. Its id is always the same, so that a memory has it once however
 * often it comes. One that is not `isBackground` belongs to a call whose result the memory may have already: look before you add it.
 *
 * ```ts
 * for await (const message of conversation.inbox()) await agent.generate([messageOf(message)], { memory });
 * ```
 */
export function messageOf({ id, tool, args, result }: InboxMessage) {
  return { id: `holdfast-${id}`, role: "user" as const, content: endedNotice(id, tool, args, result) };
}
