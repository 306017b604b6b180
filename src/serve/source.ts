import type {
  CallToolResult,
  InputRequiredResult,
  McpRequestContext,
  McpServer,
  ServerContext,
  ServerNotifier,
  StandardSchemaV1,
} from "@modelcontextprotocol/server";
import type { TaskContext } from "../runtime/tool/task-context.ts";
import type { ToolOptions } from "../runtime/tool/tool-options.ts";
import type { Prepare } from "../runtime/tool/tool.ts";
import type { Approval } from "./approval.ts";

/** The part of a `tools/call` request that a relay needs. */
export interface RelayedCall {
  readonly arguments?: Record<string, unknown> | undefined;
}

export type Relay = (
  call: RelayedCall,
  context: ServerContext,
) => Promise<CallToolResult | InputRequiredResult>;

/** A tool that a source gives: what it is for clients, and what a call does. */
export interface SourceTool {
  readonly name: string;
  /** As for `tasks.tool`. With `task: "forbidden"` a call is passed through, and nothing is stored. */
  readonly config: ToolOptions & {
    readonly inputSchema?: StandardSchemaV1;
    readonly outputSchema?: StandardSchemaV1;
    readonly prepare?: Prepare<unknown, unknown>;
  };
  readonly handler: (args: Record<string, unknown>, task: TaskContext) => Promise<CallToolResult>;
  /**
   * Answers calls while their callers wait, in place of `handler`: its answers, errors and questions reach the client as they are. Only with
   * `task: "forbidden"`.
   */
  readonly relay?: Relay;
  /** Who has to agree before each call. Left out: nobody. */
  readonly approval?: Approval | undefined;
  /** What a call with these arguments would run or send, for people. Does nothing itself. */
  readonly preview?: (args: Record<string, unknown>) => string | Promise<string>;
}

/** What a check of a source has found. */
export interface Finding {
  readonly check: string;
  /** Null: it cannot be told, or does not matter. */
  readonly works: boolean | null;
  readonly detail: string;
}

/** What `find` has found, or that it failed. */
export async function checked(
  check: string,
  find: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await find();
  } catch (error) {
    return [{ check, works: false, detail: error instanceof Error ? error.message : String(error) }];
  }
}

/** What a source is given when it opens. */
export interface SourceHost {
  /**
   * The tools of the source from now on, in place of all before. A tool that is the same object as before is left as it is. Call it before `open`
   * resolves with the tools that are known then, and again whenever they change.
   */
  readonly setTools: (tools: readonly SourceTool[]) => void;
  /** Receives faults that no caller sees. */
  readonly onError: (error: unknown) => void;
  /** Hears what else of the source has changed. Left out: nobody listens. */
  readonly changed?: SourceChanges;
}

/** Tells clients that listen, of protocol 2026-07-28: those with sessions are told on the servers that were made for them. */
export type SourceChanges = Pick<
  ServerNotifier,
  "toolsChanged" | "promptsChanged" | "resourcesChanged" | "resourceUpdated"
>;

/** A source that is open. */
export interface OpenSource {
  /** Adds what else it has, such as resources and prompts, to the server that was made for one client. */
  readonly attach?: (server: McpServer, context: McpRequestContext) => void | Promise<void>;
  /** Ends what it has started. Its tools are removed by then. */
  close(): Promise<void>;
}

/** Tools that exist elsewhere: programs, addresses, the operations of a document, another server. */
export interface ToolSource {
  /** For messages, such as `command build`. */
  readonly name: string;
  /**
   * Whether another server says what its tools are. One that cannot be served, such as a second one of a name, is then no mistake of whoever
   * starts this process: it is left out and reported, and the rest is served. Default `false`.
   */
  readonly isListed?: boolean;
  /** Rejects only for mistakes that a person has to correct: what does not answer yet is tried again. */
  open(host: SourceHost): Promise<OpenSource>;
  /** Whether what it needs is there, without calling anything. */
  check?(): Promise<readonly Finding[]>;
}

/** Whether one of the patterns is the name; `*` stands for any characters. */
export function isNamed(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => isMadeOf(name, pattern.split("*")));
}

/** Whether a text is these parts in this order, with anything between them. */
export function isMadeOf(text: string, [first = "", ...others]: readonly string[]): boolean {
  if (others.length === 0) return text === first;
  const last = others.pop() ?? "";
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
