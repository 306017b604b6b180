import type { InputResult } from "../client/question/ask-user.ts";
import { assertOptions, callback, choice, flag, isObject, tableOf, time, value } from "../options/options.ts";
import type { McpUpstreamOptions } from "../serve/mcp/mcp-options.ts";
import type { ToolSource } from "../serve/source.ts";
import type { Tasks } from "../server/tasks.ts";
import type { InputMethod } from "../task/journal.ts";
import { HoldfastError } from "../task/fault.ts";
import type { TimeSpan } from "../task/time.ts";

/** A tool of a server, as a model sees it. */
export interface HostTool {
  /** Unique in the host, with letters, digits, `_` and `-`, and 64 characters at most: what providers of models accept. */
  readonly name: string;
  /** The name of its server in `servers`. */
  readonly server: string;
  readonly title?: string | undefined;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** What the server says of it, such as `{ readOnlyHint: true }`. A server may be wrong about this. */
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * A server: its URL, how it is reached, as in the `mcpServers` of an `mcp.json`, or another source of tools of `holdfast/serve`. Its tools have its
 * name and `__` before their own, unless its `prefix` says otherwise.
 */
export type HostServer = string | ServerEntry | ToolSource;

/** An entry of an `mcp.json`, with the options of `mcpUpstream`. */
export interface ServerEntry extends McpUpstreamOptions {
  /** What an `mcp.json` says of the transport. It follows from `url` or `command`, and has no effect. */
  readonly type?: string;
}

class DeclaredToolPolicy {
  /**
   * `wait`: the model gets the result. `background`: the model is told at once that the call has started, and the result comes to the inbox of its
   * conversation. Default `wait`.
   */
  readonly mode?: "wait" | "background" | undefined = choice(["wait", "background"]);
  /** How long a call is waited for before it goes on in the background. Default: as long as it takes. */
  readonly foregroundMs?: TimeSpan | undefined = time({ min: 0 });
  /** Whether somebody has to agree before each call: in the framework, if it has approvals, otherwise by `approve`. Default false. */
  readonly approve?: boolean | undefined = flag();
}

/** How calls of a tool are made. */
export interface ToolPolicy extends DeclaredToolPolicy {}

const toolPolicy = tableOf<ToolPolicy>(DeclaredToolPolicy);

/** Throws `configuration` for a policy that is none: nothing that was to be agreed to is called for a mistake. */
export function assertPolicy(tool: HostTool, given: unknown): asserts given is ToolPolicy {
  assertOptions(`The policy of ${tool.name}`, given, toolPolicy);
  // Which has no names that could be wrong, and would ask for nothing.
  if ("then" in given)
    throw new HoldfastError(
      "configuration",
      `The policy of ${tool.name} is a promise. Return it at once: policy cannot be async.`,
    );
}

/** A call that somebody has to agree to. */
export interface ApprovalRequest {
  readonly conversation: string;
  readonly tool: HostTool;
  readonly args: Readonly<Record<string, unknown>>;
}

/** A question of a server about a call, for the user of the conversation. */
export interface HostQuestion {
  readonly conversation: string;
  /** The id of the call that asks. */
  readonly call: string;
  /** The name of the tool. */
  readonly tool: string;
  /** Unique within the call. */
  readonly key: string;
  readonly method: InputMethod;
  /** As the server sent them. Treat them with the same care as any other text of a server. */
  readonly params: Readonly<Record<string, unknown>>;
}

class DeclaredHostOptions {
  /**
   * What keeps calls and their results, also after a crash of this process: the tasks of this process, on a store of its own. With one Postgres
   * store, another process can go on with its conversations.
   */
  readonly tasks: Tasks = value('what createTasks({ store: sqliteStore("host.db") }) returns', isObject, {
    required: true,
  });
  /** The servers by name: `{ build: "https://build.example.com/mcp" }`, or the `mcpServers` of an `mcp.json`. */
  readonly servers: Readonly<Record<string, HostServer>> = value("an object of servers by name", isObject, {
    required: true,
  });
  /** How calls of a tool are made. Left out, or undefined: the model waits for each. */
  readonly policy?: (tool: HostTool) => ToolPolicy | undefined = callback();
  /** Whether a call may be made whose policy says `approve`. Default: no. */
  readonly approve?: (request: ApprovalRequest) => boolean | Promise<boolean> = callback();
  /**
   * Answers a question of a server. If it throws, or is left out, the question stays open, and `conversation.answer` answers it. A question that is
   * open when this process ends is asked again by the next one, once its conversation is opened.
   */
  readonly onInput?: (question: HostQuestion, signal: AbortSignal) => Promise<InputResult> = callback();
  /** How long a call and its result are kept, from its end, acknowledged or not: for so long the same id is the same call. Default 7 days. */
  readonly keepMs?: TimeSpan = time({ min: 0, default: 7 * 86_400_000 });
  /** Called with errors that no caller gets, such as those of a server that cannot be reached. Default: prints a line to stderr. */
  readonly onError?: (error: unknown) => void = callback();
}

/** Options of `connectAll`. */
export interface HostOptions extends DeclaredHostOptions {}

export const hostOptions = tableOf<HostOptions>(DeclaredHostOptions);
