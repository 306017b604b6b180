import { errorReporter } from "../runtime/error-reporter.ts";
import { jsonSchemaOf } from "../serve/tool-settings.ts";
import { mcpUpstream } from "../serve/mcp/mcp-upstream.ts";
import { assertOptions, settingsOf } from "../options/options.ts";
import { isRelayed } from "../serve/relayed-tools.ts";
import { serveTools, type ServedTools } from "../serve/serve-tools.ts";
import type { Finding, SourceTool, ToolSource } from "../serve/source.ts";
import { insideOf } from "../server/request.ts";
import { HoldfastError } from "../task/fault.ts";
import { Conversation, type RegisteredTool } from "./conversation.ts";
import { FollowedCalls } from "./followed-calls.ts";
import { modelName } from "./for-models.ts";
import {
  assertPolicy,
  hostOptions,
  type HostOptions,
  type HostServer,
  type HostTool,
} from "./host-options.ts";

/** The servers of a host, and its conversations. */
export interface Host {
  /** The tools of all servers that can be reached, for a model. */
  readonly tools: readonly HostTool[];
  /** The conversation of this id: its calls, its inbox. An id is whatever the host names its conversations by. */
  conversation(id: string): Conversation;
  /** What does not work now, by the names of the servers: asks each of them. Servers without a problem are left out. */
  problems(): Promise<ReadonlyMap<string, readonly Finding[]>>;
  /** Ends all waits, the tasks of this process and the connections. Calls go on at their servers, and when the host is there again. */
  close(): Promise<void>;
}

/**
 * Connects an agent to several servers. Every call is a task of its own store: it goes on while the model works on something else, and after a
 * crash of this process; its result waits in the inbox of its conversation until that has it. A server that cannot be reached does not keep the
 * others from being used: its tools appear when it is there. Rejects with `configuration` for invalid options.
 *
 * ```ts
 * const host = await connectAll({
 *   tasks: createTasks({ store: sqliteStore("host.db") }),
 *   servers: {
 *     build: "https://build.example.com/mcp",
 *     files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "docs"] },
 *   },
 * });
 * const tools = aiTools(host.conversation("chat-17")); // from holdfast/ai-sdk
 * ```
 */
export async function connectAll(given: HostOptions): Promise<Host> {
  assertOptions("connectAll", given, hostOptions);
  const inside = insideOf(given.tasks);
  if (inside === undefined)
    throw new HoldfastError("configuration", "connectAll needs tasks that createTasks returned.");
  const options = settingsOf<HostOptions, "policy" | "approve" | "onInput" | "onError">(hostOptions, given);
  const onError = errorReporter(given.onError);
  let served: ServedTools | undefined;
  const closing = new AbortController();
  const { tasks, servers, policy } = options;
  const serverOf = new WeakMap<SourceTool, string>();
  const sources = Object.entries(servers).map(
    ([name, server]) => [name, marked(name, sourceOf(name, server), serverOf)] as const,
  );
  const close = async (): Promise<void> => {
    closing.abort(new HoldfastError("stopping", "The host is closed."));
    for (const each of followed.values()) each.deref()?.close();
    await tasks.stop();
    await served?.close();
  };
  /** By conversation. What is followed is held by its watches; all else only by whoever uses it. */
  const followed = new Map<string, WeakRef<FollowedCalls>>();
  const unused = new FinalizationRegistry((id: string) => {
    if (followed.get(id)?.deref() === undefined) followed.delete(id);
  });
  const tools = (): readonly RegisteredTool[] =>
    (served?.tools ?? [])
      .filter((tool) => !isRelayed(tool))
      .map((tool) => registeredTool(serverOf.get(tool) ?? "", tool));
  try {
    const all = sources.map(([, source]) => source);
    served = await serveTools(tasks, all, { onError });
    await tasks.start();
  } catch (error) {
    await close();
    throw error;
  }
  const setup = {
    runtime: inside.runtime,
    options,
    onError,
    closing: closing.signal,
    tools,
    policyOf: (tool: HostTool) => {
      const found = policy?.(tool) ?? {};
      assertPolicy(tool, found);
      return found;
    },
  };
  return {
    get tools() {
      return tools().map(({ tool }) => tool);
    },
    conversation(id) {
      const known = followed.get(id)?.deref();
      const calls = known ?? new FollowedCalls(id, setup);
      if (known === undefined) {
        followed.set(id, new WeakRef(calls));
        unused.register(calls, id);
      }
      return new Conversation(id, setup, calls);
    },
    async problems() {
      const findings = await Promise.all(
        sources.map(async ([name, source]) => [name, (await source.check?.()) ?? []] as const),
      );
      const failing = findings.map(
        ([name, all]) => [name, all.filter(({ works }) => works === false)] as const,
      );
      return new Map(failing.filter(([, all]) => all.length > 0));
    },
    close,
  };
}

function sourceOf(name: string, server: HostServer): ToolSource {
  if (typeof server === "string") return sourceOf(name, { url: server });
  if ("open" in server) return server;
  const { type: _transport, ...options } = server;
  // JavaScript callers may leave a tool undefined.
  const all: readonly ({ readonly durable?: boolean | undefined } | undefined)[] = [
    options,
    ...Object.values(options.tools ?? {}),
  ];
  const passing = all.some((each) => each?.durable === false);
  if (passing)
    throw new HoldfastError(
      "configuration",
      `connectAll: servers.${name} says durable: false, but calls of a host are tasks. Remove it.`,
    );
  return mcpUpstream(name, { prefix: `${name}__`, ...options });
}

/** The source, whose tools are noted as those of this server. */
function marked(server: string, source: ToolSource, serverOf: WeakMap<SourceTool, string>): ToolSource {
  const open: ToolSource["open"] = async (host) =>
    source.open({
      ...host,
      setTools: (tools) => {
        for (const tool of tools) serverOf.set(tool, server);
        host.setTools(tools);
      },
    });
  const { name, isListed } = source;
  return {
    name,
    ...(isListed !== undefined && { isListed }),
    open,
    check: async () => (await source.check?.()) ?? [],
  };
}

function registeredTool(server: string, { name, config }: SourceTool): RegisteredTool {
  const { title, description = title ?? name, annotations, inputSchema } = config;
  const tool = {
    name: modelName(name),
    server,
    title,
    description,
    inputSchema: jsonSchemaOf(inputSchema) ?? { type: "object" },
    annotations: annotations && { ...annotations },
  };
  return { registered: name, tool };
}
