import type { CallToolResult, McpRequestContext, McpServer } from "@modelcontextprotocol/server";
import { errorReporter, type OnError } from "../runtime/error-reporter.ts";
import type { TaskContext } from "../runtime/tool/task-context.ts";
import type { DurableTool } from "../runtime/tool/tool.ts";
import { insideOf } from "../server/request.ts";
import type { Tasks } from "../server/tasks.ts";
import { HoldfastError } from "../task/fault.ts";
import { assertApproval, refusalOf } from "./approval.ts";
import { defaultsOf, propertiesOf, errorResult } from "./tool-settings.ts";
import { isRelayed, RelayedTools, type RelayedTool } from "./relayed-tools.ts";
import { assertPlaceholders, type Scope } from "./template.ts";
import type { OpenSource, Relay, SourceChanges, SourceTool, ToolSource } from "./source.ts";

/** Options of `serveTools`. */
export interface ServeToolsOptions {
  /** Called with errors that no caller is told about, such as a tool whose name is taken. Default: prints a line to stderr. */
  readonly onError?: (error: unknown) => void;
}

/** The tools of some sources, on the tasks of a process. */
export interface ServedTools {
  /** All tools of now, in the order of their sources. */
  readonly tools: readonly SourceTool[];
  /** Adds what the sources have besides tools to a server of yours, in the factory that you pass to `tasks.server`. */
  attach(server: McpServer, context: McpRequestContext): Promise<void>;
  /** From now on `changes` hears when lists of resources or prompts change, or a resource: `served.tell(http.notify)`. */
  tell(changes: SourceChanges): void;
  /**
   * Serves these sources instead. Sources that are the same objects stay open, and one that is gone closes when its last call under way has ended. If
   * one does not open, or two have a tool of the same name that no other server lists, everything stays as it was, and it rejects. Tasks of a tool that
   * is gone wait for its return.
   */
  replace(sources: readonly ToolSource[]): Promise<void>;
  /** Removes the tools and closes the sources. Call it after `tasks.stop()`. */
  close(): Promise<void>;
}

/**
 * Adds the tools of programs, job APIs, OpenAPI documents and other MCP servers to `tasks`. Call it before the server starts, so that tasks of an
 * earlier process find their tools. Rejects with `configuration` for a mistake in a source, and for two tools of the same name; a tool that another
 * server lists is left out instead, and `onError` is told.
 *
 * ```ts
 * const served = await serveTools(tasks, [
 *   command("thumbnail", { run: ["convert", "{input}", "-resize", "200", "{output}"], … }),
 * ]);
 * await serveHttp(tasks.server(async (context) => {
 *   const server = new McpServer({ name: "tools", version: "1.0.0" });
 *   await served.attach(server, context);
 *   return server;
 * }));
 * ```
 */
export async function serveTools(
  tasks: Pick<Tasks, "tool">,
  sources: readonly ToolSource[],
  { onError }: ServeToolsOptions = {},
): Promise<ServedTools> {
  const served = new Served(tasks, errorReporter(onError));
  await served.replace(sources);
  return served;
}

/** How many sources to open at a time. */
const mostOpening = 16;

/** A source that is open or opens, and its tools. */
interface Opened {
  readonly source: ToolSource;
  tools: readonly SourceTool[];
  open?: OpenSource;
  /** How many calls of its tools are under way. */
  calls: number;
}

class Served implements ServedTools {
  readonly #tasks: Pick<Tasks, "tool">;
  readonly #onError: OnError;
  /** Whether the server has addresses for events. */
  readonly #hasAddresses: boolean;
  #opened: readonly Opened[] = [];
  /** Sources that have been replaced, whose calls still need them. */
  readonly #replaced = new Set<Opened>();
  readonly #registered = new Map<
    string,
    {
      readonly tool: SourceTool;
      readonly durable?: Pick<DurableTool, "remove">;
      readonly relayed?: RelayedTool;
    }
  >();
  readonly #relayed: RelayedTools;
  #changes: SourceChanges | undefined;
  /** One at a time. */
  #replacing: Promise<void> = Promise.resolve();

  constructor(tasks: Pick<Tasks, "tool">, onError: OnError) {
    this.#tasks = tasks;
    this.#onError = onError;
    const inside = insideOf(tasks);
    this.#hasAddresses = inside === undefined || inside.runtime.options.eventsUrl !== undefined;
    this.#relayed = new RelayedTools(
      () => [...this.#registered.values()].flatMap(({ relayed = [] }) => relayed),
      onError,
    );
  }

  get tools(): readonly SourceTool[] {
    const isRegistered = (tool: SourceTool): boolean => this.#registered.get(tool.name)?.tool === tool;
    return this.#opened.flatMap(({ tools }) => tools.filter(isRegistered));
  }

  async attach(server: McpServer, context: McpRequestContext): Promise<void> {
    this.#relayed.attach(server, context);
    for (const { open } of this.#opened) await open?.attach?.(server, context);
  }

  tell(changes: SourceChanges): void {
    this.#changes = changes;
  }

  replace(sources: readonly ToolSource[]): Promise<void> {
    const replaced = this.#replacing.then(() => this.#replace(sources));
    this.#replacing = replaced.catch(() => undefined);
    return replaced;
  }

  async close(): Promise<void> {
    await this.replace([]);
    await this.#close([...this.#replaced]);
  }

  async #replace(sources: readonly ToolSource[]): Promise<void> {
    const before = this.#opened;
    const next = sources.map(
      (source) => before.find((each) => each.source === source) ?? { source, tools: [], calls: 0 },
    );
    const added = next.filter((each) => !before.includes(each));
    try {
      await this.#openAll(added);
      this.#register(next, (fault, isMistake) => {
        if (isMistake) throw fault;
        this.#onError(fault);
      });
    } catch (error) {
      this.#register(before, this.#onError);
      await this.#close(added);
      throw error;
    }
    this.#opened = next;
    const gone = before.filter((each) => !next.includes(each));
    for (const each of gone) if (each.calls > 0) this.#replaced.add(each);
    await this.#close(gone.filter((each) => !this.#replaced.has(each)));
  }

  /** Runs a call of a source, which stays open until that has ended. */
  async #during<T>(opened: Opened, run: () => Promise<T>): Promise<T> {
    opened.calls++;
    try {
      return await run();
    } finally {
      opened.calls--;
      if (opened.calls === 0 && this.#replaced.has(opened)) void this.#close([opened]);
    }
  }

  /** A source that does not answer keeps no other waiting. Once all have opened or failed, throws what the first of those that failed did. */
  async #openAll(added: readonly Opened[]): Promise<void> {
    const left = added.values();
    const failed = new Map<Opened, unknown>();
    const openers = Array.from({ length: mostOpening }, async () => {
      for (const each of left) await this.#open(each).catch((error: unknown) => failed.set(each, error));
    });
    await Promise.all(openers);
    for (const each of added) if (failed.has(each)) throw failed.get(each);
  }

  async #open(opened: Opened): Promise<void> {
    const onError = this.#onError;
    opened.open = await opened.source.open({
      onError,
      changed: {
        toolsChanged: () => this.#changes?.toolsChanged(),
        promptsChanged: () => this.#changes?.promptsChanged(),
        resourcesChanged: () => this.#changes?.resourcesChanged(),
        resourceUpdated: (uri) => this.#changes?.resourceUpdated(uri),
      },
      setTools: (tools) => {
        opened.tools = tools;
        if (this.#opened.includes(opened)) this.#register(this.#opened, onError);
      },
    });
  }

  async #close(opened: readonly Opened[]): Promise<void> {
    for (const each of opened) this.#replaced.delete(each);
    await Promise.all(opened.map(async ({ open }) => open?.close().catch(this.#onError)));
  }

  /**
   * Registers the tools of these sources, and no others. A tool that cannot be registered is a fault, and left out. It is the mistake of whoever
   * has set up the sources, unless another server lists the tool.
   */
  #register(opened: readonly Opened[], onFault: (fault: unknown, isMistake: boolean) => void): void {
    const wanted = new Map<string, { readonly tool: SourceTool; readonly from: Opened }>();
    for (const from of opened)
      for (const tool of from.tools) {
        const other = wanted.get(tool.name);
        if (other === undefined) wanted.set(tool.name, { tool, from });
        else {
          const isListed = from.source.isListed ?? other.from.source.isListed ?? false;
          onFault(nameTaken(tool.name, other.from.source, from.source), !isListed);
        }
      }
    let relayedChanged = false;
    for (const [name, { tool, durable }] of this.#registered) {
      if (wanted.get(name)?.tool === tool) continue;
      durable?.remove();
      this.#registered.delete(name);
      relayedChanged ||= durable === undefined;
    }
    for (const [name, { tool, from }] of wanted) {
      if (this.#registered.has(name)) continue;
      let isMistake = true;
      try {
        assertAsked(tool, this.#hasAddresses);
        isMistake = from.source.isListed !== true;
        if (isRelayed(tool)) {
          const relay: Relay = async (...of) => this.#during(from, async () => tool.relay(...of));
          this.#registered.set(name, { tool, relayed: { ...tool, relay } });
          relayedChanged = true;
          continue;
        }
        const { approval } = tool;
        const config = { ...tool.config, ...(approval && { alwaysTask: true }) };
        const durable = this.#tasks.tool(name, config, async (args, task) =>
          this.#during(from, async () => call(tool, args as Record<string, unknown>, task)),
        );
        this.#registered.set(name, { tool, durable });
      } catch (cause) {
        onFault(
          new HoldfastError(
            "configuration",
            `${from.source.name}: ${cause instanceof Error ? cause.message : String(cause)}`,
            { cause },
          ),
          isMistake,
        );
      }
    }
    if (!relayedChanged) return;
    this.#relayed.changed();
    this.#changes?.toolsChanged();
  }
}

/** Runs a call, after whoever has to agree has. */
async function call(
  { name, approval, handler, config }: SourceTool,
  args: Record<string, unknown>,
  task: TaskContext,
): Promise<CallToolResult> {
  const complete = (): Scope => ({ ...defaultsOf(propertiesOf(config.inputSchema)), ...args });
  const refusal = approval && (await refusalOf(approval, name, complete(), task));
  return refusal === undefined ? handler(args, task) : errorResult(refusal);
}

/** Throws `configuration` if nobody could be asked, or would not be told what for. */
function assertAsked({ name, approval, config }: SourceTool, hasAddresses: boolean): void {
  if (approval === undefined) return;
  assertApproval(`The approval of tool "${name}"`, approval, hasAddresses);
  const names = Object.keys(propertiesOf(config.inputSchema));
  if (names.length > 0) assertPlaceholders(`The approval of tool "${name}"`, approval.message, names);
  const fail = (problem: string): never => {
    throw new HoldfastError("configuration", `Tool "${name}": ${problem}`);
  };
  if (config.prepare !== undefined)
    fail("prepare begins the call before its approval. Remove one of the two.");
  if (config.task === "forbidden")
    fail(
      "a call waits for its approval as a task, but with durable: false it has none. Remove approval, or durable: false.",
    );
}

function nameTaken(name: string, one: ToolSource, other: ToolSource): HoldfastError {
  const problem =
    one === other
      ? `${one.name} has two tools of the name "${name}", and the second is left out.`
      : `Two tools have the name "${name}": one of ${one.name}, and one of ${other.name}. Rename one of them, or give its source a prefix.`;
  return new HoldfastError("configuration", problem);
}
