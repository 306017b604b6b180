import { withoutNulls } from "../../client/reply/readable-lists.ts";
import { isJsonObject, sameJson } from "../../generation/message.ts";
import {
  type CallToolResult,
  type ContentBlock,
  type Tool,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import type { Prepare } from "../../runtime/tool/tool.ts";
import { foreignSchema, uncheckedSchema } from "../../runtime/tool/schema.ts";
import { blockFault } from "../../runtime/tool/tool-outcome.ts";
import { isPollingTool } from "../../server/plain/polling-tools.ts";
import { cutText } from "../../task/stored-text.ts";
import { isNamed, type SourceTool, type Relay } from "../source.ts";
import { definedOf } from "../../options/options.ts";
import { type McpUpstreamOptions, passedOn as toolOptions, type UpstreamToolOptions } from "./mcp-options.ts";
import {
  beginUpstream,
  callUpstream,
  passThrough,
  type Started,
  type UpstreamCall,
  failureOf,
} from "./upstream-call.ts";
import { withInputRequired, type RequestOptions } from "@modelcontextprotocol/client";
import { paramHeaders, readParamHeaders } from "../../client/2026-07-28/generation.ts";
import { plainRead } from "../../client/call/read.ts";
import type { TaskClient } from "../../client/task-client.ts";
import type { Asker } from "./relayed-questions.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";

/** Requests that a server answers while the caller waits: what it says is the answer, also an error or a question. */

/** Methods that a server can answer with a question, since 2026-07-28. */
type Asking = "tools/call" | "prompts/get" | "resources/read";

/**
 * What of a caller's `_meta` the server gets: all callers are one to it. An idempotency key, for one, would find the result of another caller who chose
 * the same.
 */
const passedOn: ReadonlySet<string> = new Set(["traceparent", "tracestate", "baggage"]);

/** The calls of a tool. */
function relayOf(upstream: UpstreamConnection, { name, inputSchema }: Tool): Relay {
  const headers = readParamHeaders(inputSchema) ?? [];
  return async ({ arguments: args }, context) => {
    const { signal } = context.mcpReq;
    try {
      const { sdk } = await upstream.client(signal);
      const params = { name, ...(args && { arguments: args }) };
      const call = () =>
        relayed<CallToolResult>(sdk, "tools/call", params, context, { headers: paramHeaders(headers, args) });
      return await upstream.questions.duringCall(askerOf(context), call);
    } catch (error) {
      signal.throwIfAborted();
      throw failureOf(error, upstream, name);
    }
  };
}

/**
 * The server's answer to a request of a caller, whose answers to questions it gets, and who gets its reports of progress. Rejects with a
 * `TaskClientError`.
 */
export async function relayed<Result>(
  sdk: TaskClient["sdk"],
  method: Asking,
  params: Record<string, unknown>,
  { mcpReq }: ServerContext,
  options: RequestOptions = {},
): Promise<Result | InputRequiredResult> {
  const { inputResponses, signal } = mcpReq;
  const { progressToken, ...given } = mcpReq._meta ?? {};
  const meta: Record<string, unknown> = Object.fromEntries(
    Object.entries(given).filter(([name]) => passedOn.has(name)),
  );
  // The server asks what the caller's client can answer.
  const { [CLIENT_CAPABILITIES_META_KEY]: capabilities } = { ...mcpReq.envelope } as Record<string, unknown>;
  if (capabilities !== undefined) meta[CLIENT_CAPABILITIES_META_KEY] = capabilities;
  const requestState = mcpReq.requestState<string>();
  const request = {
    method,
    params: {
      ...params,
      ...(inputResponses && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
      ...(Object.keys(meta).length > 0 && { _meta: meta }),
    },
  };
  const onprogress: RequestOptions["onprogress"] = (progress) => {
    if (progressToken === undefined) return;
    const said = { method: "notifications/progress", params: { ...progress, progressToken } };
    mcpReq.notify(said).catch(() => undefined); // the caller has gone
  };
  return plainRead(
    async (how) =>
      sdk.request(request, withInputRequired(uncheckedSchema<Result>()), {
        ...how,
        ...options,
        ...(progressToken !== undefined && { onprogress }),
        allowInputRequired: true,
      }),
    signal,
  );
}

/** Puts the questions that a server of before 2026-07-28 sends during a call to the client of the call, as they are. */
function askerOf({ mcpReq }: ServerContext): Asker {
  const { signal } = mcpReq;
  return async ({ method, params }) => {
    const question = { method, params: { ...params } };
    return plainRead(
      async (how) => mcpReq.send(question, uncheckedSchema<Awaited<ReturnType<Asker>>>(), how),
      signal,
    );
  };
}

/** The connections to a server. */
export interface Upstreams {
  /** Gives a connection for one call. */
  readonly forCall: <T>(task: TaskContext, use: (upstream: UpstreamConnection) => Promise<T>) => Promise<T>;
  /** That of all calls; undefined if each has its own. */
  readonly shared: UpstreamConnection | undefined;
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
    const { annotations, outputSchema } = from;
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
        ...definedOf(from, ["title", "description", "annotations", "icons", "_meta"]),
        inputSchema: foreignSchema(from.inputSchema),
        ...(outputSchema !== undefined && { outputSchema: uncheckedSchema(outputSchema) }),
        ...(isDurable ? { park: false, onCrash: "resume" } : { task: "forbidden" }),
        ...definedOf(own, toolOptions),
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
function readable(result: CallToolResult, { name }: UpstreamConnection): CallToolResult {
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
  upstream: UpstreamConnection,
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
