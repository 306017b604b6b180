import { withoutNulls } from "../../client/reply/readable-lists.ts";
import { isJsonObject, sameJson } from "../../generation/message.ts";
import type {
  CallToolResult,
  ContentBlock,
  StandardSchemaWithJSON,
  Tool,
} from "@modelcontextprotocol/server";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import type { Prepare } from "../../runtime/tool/tool.ts";
import { foreignSchema } from "../../runtime/tool/schema.ts";
import { blockFault } from "../../runtime/tool/tool-outcome.ts";
import { isPollingTool } from "../../server/plain/polling-tools.ts";
import { cutText } from "../../task/stored-text.ts";
import { isNamed, type SourceTool } from "../source.ts";
import { toolOptionsOf, type McpUpstreamOptions, type UpstreamToolOptions } from "./mcp-options.ts";
import { relayOf } from "./relay.ts";
import {
  beginUpstream,
  callUpstream,
  passThrough,
  type Started,
  type Upstream,
  type UpstreamCall,
} from "./upstream-call.ts";

/** Gives a connection for one call. */
export type WithUpstream = <T>(task: TaskContext, use: (upstream: Upstream) => Promise<T>) => Promise<T>;

/** The connections to a server. */
export interface Upstreams {
  readonly forCall: WithUpstream;
  /** That of all calls; undefined if each has its own. */
  readonly shared: Upstream | undefined;
}

/** The tools of a server, as they are served. A tool that has not changed stays the same object. */
export class UpstreamTools {
  readonly #options: McpUpstreamOptions;
  readonly #upstreams: Upstreams;
  #made: readonly { readonly from: Tool; readonly tool: SourceTool }[] = [];

  constructor(options: McpUpstreamOptions, upstreams: Upstreams) {
    this.#options = options;
    this.#upstreams = upstreams;
  }

  of(listed: readonly Tool[]): readonly SourceTool[] {
    const { include, exclude = [] } = this.#options;
    const chosen = listed.filter((tool) => {
      const { name } = tool;
      return (
        (include === undefined ? !isPollingTool(tool) : isNamed(name, include)) && !isNamed(name, exclude)
      );
    });
    this.#made = chosen.map((from) => {
      const known = this.#made.find((made) => sameJson(made.from, from));
      return known ?? { from, tool: this.#make(from) };
    });
    return this.#made.map(({ tool }) => tool);
  }

  #make(from: Tool): SourceTool {
    const { prefix = "", durable = true, repeat = "annotations", tools = {} } = this.#options;
    const own: UpstreamToolOptions = Object.hasOwn(tools, from.name) ? (tools[from.name] ?? {}) : {};
    const { title, description, annotations, icons, _meta, outputSchema } = from;
    const isDurable = own.durable ?? durable;
    const mayRepeat = repeatAllows(own.repeat ?? repeat, annotations);
    const callOf = (args: Record<string, unknown>): UpstreamCall => {
      return { tool: from.name, args, mayRepeat, key: "upstream" };
    };
    const { shared } = this.#upstreams;
    const call = isDurable ? callUpstream : passThrough;
    return {
      name: own.name ?? `${prefix}${from.name}`,
      config: {
        ...(title !== undefined && { title }),
        ...(description !== undefined && { description }),
        ...(annotations !== undefined && { annotations }),
        ...(icons !== undefined && { icons }),
        ...(_meta !== undefined && { _meta }),
        inputSchema: foreignSchema(from.inputSchema),
        ...(outputSchema !== undefined && { outputSchema: unchecked(outputSchema) }),
        ...(isDurable ? { park: false, onCrash: "resume" } : { task: "forbidden" }),
        ...toolOptionsOf(own),
        ...(isDurable && own.asksFirst === true && shared && { prepare: beginning(shared, callOf) }),
      },
      handler: async (args, task) =>
        this.#upstreams.forCall(task, async (upstream) =>
          readable(await call(task, upstream, callOf(args)), upstream),
        ),
      ...(!isDurable && this.#relay(from)),
      approval: own.approval,
      preview: (args) => `tools/call ${JSON.stringify({ name: from.name, arguments: args }, null, 2)}`,
    };
  }

  /** A tool that only makes tasks answers nobody who waits. */
  #relay(from: Tool): Pick<SourceTool, "relay"> {
    const { shared } = this.#upstreams;
    const makesTasks = from.execution?.taskSupport === "required";
    return shared === undefined || makesTasks ? {} : { relay: relayOf(shared, from) };
  }
}

/** The tool has run, so its result is not lost for a part that no client can read. */
function readable(result: CallToolResult, { name }: Upstream): CallToolResult {
  const { content, isError } = result;
  return {
    ...result,
    content: content.map((block) => readableBlock(block, name)),
    ...(isError !== undefined && { isError: Boolean(isError) }),
  };
}

/** Without nulls, which some servers write for what they do not have, and without annotations where those are not valid. */
function readableBlock(block: ContentBlock, server: string): ContentBlock {
  const fault = blockFault(block);
  if (fault === undefined) return block;
  if (isJsonObject(block)) {
    const filled = withoutNulls(block, 2);
    const { annotations: _, ...bare } = filled;
    const found = [filled, bare].find((each) => blockFault(each) === undefined);
    if (found !== undefined) return found as ContentBlock;
  }
  const given = cutText(JSON.stringify(block));
  return { type: "text", text: `[Content of the server ${server} that is not valid: ${fault}] ${given}` };
}

/** Begins a call before there is a task, which asks its client meanwhile. */
function beginning(
  upstream: Upstream,
  callOf: (args: Record<string, unknown>) => UpstreamCall,
): Prepare<unknown, Started> {
  return async (args, ask) => beginUpstream(ask, upstream, callOf(args as Record<string, unknown>));
}

function repeatAllows(
  repeat: NonNullable<McpUpstreamOptions["repeat"]>,
  annotations: Tool["annotations"],
): boolean {
  if (repeat !== "annotations") return repeat === "always";
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}

/** Results are the server's own to judge. */
function unchecked(json: Record<string, unknown>): StandardSchemaWithJSON {
  return {
    "~standard": {
      version: 1,
      vendor: "holdfast",
      validate: (value) => ({ value }),
      jsonSchema: { input: () => json, output: () => json },
    },
  };
}
