import { SERVER_INFO_META_KEY } from "@modelcontextprotocol/server";
import {
  completeResult,
  readCommand,
  taskMethods,
  type TasksMethod,
  declaresTasks,
  readCapabilities,
  readLogLevel,
  detailedTaskText,
  generation,
} from "../../generation/2026-07-28.ts";
import {
  hasIdempotencyKey,
  isRepeat,
  type ArtifactResource,
  type TaskResource,
} from "../../generation/extensions.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { ServerEvents } from "../../runtime/events/server-events.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { isRepeatable, type Tool } from "../../runtime/tool/tool.ts";
import { validateArguments } from "../../runtime/tool/tool-outcome.ts";
import { isUnknownTask } from "../../task/fault.ts";
import {
  type Answer,
  calledTool,
  type Caller,
  completeAnswerOf,
  JsonWithBytes,
  type TextAnswer,
  type ToolRequest,
} from "../request.ts";
import { type ErrorOf, notRepeatable, refusalOf, toolNotFound } from "../faults.ts";
import type { PlainCalls } from "../plain/plain-calls.ts";
import type { PollingTools } from "../plain/polling-tools.ts";
import type { Rates } from "../rates.ts";
import type { AuthorIdentity } from "../server-identity.ts";
import { readTaskResource, taskResourceOf } from "../task-resources.ts";
import { lineReader, missingForCall, missingForMethod, type RequestStream } from "./admission.ts";
import { callTool } from "./call-tool.ts";
import { plainCall, resumed } from "./mrtr.ts";

/** An authorized request that Holdfast handles. */
export interface OpenRequest extends ToolRequest {
  readonly method: string;
  readonly principal: string | null;
  readonly stream: RequestStream;
  readonly author: AuthorIdentity;
}

export interface DispatcherSetup {
  readonly runtime: Runtime;
  readonly rates: Rates;
  readonly plain: PlainCalls;
  readonly pollingTools: PollingTools;
  readonly errorOf: ErrorOf;
  /** Receives refused requests. */
  readonly events: ServerEvents | undefined;
}

/** Answers the requests of protocol 2026-07-28 that are ours, on any transport. */
export class Dispatcher {
  readonly #setup: DispatcherSetup;

  constructor(setup: DispatcherSetup) {
    this.#setup = setup;
  }

  /** Whether a request is answered here. All others are for the author's server. */
  owns(method: string, params: unknown): boolean {
    if (isTasksMethod(method) || taskResourceOf(method, params) !== undefined) return true;
    if (method !== "tools/call") return false;
    const name = calledTool(params);
    // The author's own tool cannot tell a repeated call from a new one.
    return this.#toolNamed(name) !== undefined || this.#pollingTool(name) !== undefined || isRepeat(params);
  }

  /** Undefined for a request that was called off, which is not answered. */
  async handle(request: OpenRequest): Promise<Answer | TextAnswer | undefined> {
    const { params, principal, author } = request;
    const { serverInfo } = author;
    try {
      const resource = taskResourceOf(request.method, params);
      if (resource !== undefined) return await this.#read(resource, request);
      const logLevel = author.logs ? readLogLevel(params) : undefined;
      const caller = { capabilities: readCapabilities(params) ?? {}, principal, logLevel };
      if (isTasksMethod(request.method)) return await this.#aboutTask(request.method, request, caller);
      return signed(await this.#call(request, caller), serverInfo);
    } catch (error) {
      if (request.signal.aborted && error === request.signal.reason) return undefined;
      if (isUnknownTask(error)) this.#setup.rates.missed(principal);
      this.#setup.events?.emit(refusalOf(error, { principal, method: request.method }));
      return { error: this.#setup.errorOf(error) };
    }
  }

  /** The checks come in the order capability, params, task. */
  async #aboutTask(
    method: TasksMethod,
    { params, access, trace, reserve, author: { serverInfo } }: OpenRequest,
    { capabilities, principal }: Caller,
  ): Promise<Answer | TextAnswer> {
    const missing = missingForMethod(method, capabilities);
    if (missing !== undefined) throw missing;
    const command = readCommand(method, params);
    const { taskId } = command;
    const { runtime, rates } = this.#setup;
    const requestor = { generation, principal, scopes: access?.scopes };
    switch (command.type) {
      case "get": {
        const snapshot = await runtime.get(taskId, requestor, undefined, reserve);
        trace?.about(taskId);
        rates.advertised(taskId, principal, snapshot.task.pollIntervalMs);
        runtime.retrieved(snapshot.task, method);
        return { resultText: detailedTaskText(snapshot, { [SERVER_INFO_META_KEY]: serverInfo }) };
      }
      case "update":
        await runtime.answer(taskId, requestor, command.answers);
        break;
      case "cancel":
        await runtime.cancel(taskId, requestor);
    }
    trace?.about(taskId);
    return signed({ result: { resultType: "complete" } }, serverInfo);
  }

  /** Answers like the SDK without hints from an author: the client must not cache what it read, because more will follow. */
  async #read(resource: TaskResource | ArtifactResource, request: OpenRequest): Promise<Answer | TextAnswer> {
    let data: Buffer | undefined;
    const toBlob = (blob: Buffer): string => {
      data = blob;
      return "";
    };
    const reader = lineReader(request);
    const result = await readTaskResource(this.#setup.runtime, resource, reader, request.reserve, toBlob);
    const complete = completeResult({ ...result, ttlMs: 0, cacheScope: "private" });
    const answer = signed({ result: complete }, request.author.serverInfo);
    if (data === undefined || !("result" in answer)) return answer;
    return { resultText: JsonWithBytes.blobIn(answer.result, data) };
  }

  async #call(request: OpenRequest, caller: Caller): Promise<Answer> {
    const { runtime, plain, pollingTools } = this.#setup;
    const { params, stream } = request;
    const name = calledTool(params);
    const kind = this.#pollingTool(name);
    if (kind !== undefined && declaresTasks(caller.capabilities)) {
      throw toolNotFound(name);
    }
    const tool = this.#toolNamed(name);
    if (isRepeat(params) && !mayRepeat(tool, params, caller)) throw notRepeatable(name);
    if (kind !== undefined) {
      await resumed(runtime, request, caller.principal); // takes the answers that came along
      return pollingTools.answer(kind, plainCall(runtime, request, caller, stream));
    }
    if (tool === undefined) throw toolNotFound(name);
    const missing = missingForCall(tool, caller.capabilities, plain.policies);
    if (missing !== undefined) throw missing;
    const validated = await validateArguments(tool, params["arguments"]);
    if (!validated.ok) return completeAnswerOf(validated.outcome);
    return callTool({ runtime, plain, stream }, tool, request, caller);
  }

  #toolNamed(name: string): Tool | undefined {
    return this.#setup.runtime.registry.get(name);
  }

  #pollingTool(name: string): ReturnType<PlainCalls["policies"]["pollingTool"]> {
    return this.#setup.plain.policies.pollingTool(name);
  }
}

/** Adds the server to a result that does not name it yet, as the SDK does. */
function signed(answer: Answer, serverInfo: JsonObject): Answer {
  if (!("result" in answer)) return answer;
  const { _meta: meta = {} } = answer.result;
  if (!isJsonObject(meta)) return answer;
  return { result: { ...answer.result, _meta: { [SERVER_INFO_META_KEY]: serverInfo, ...meta } } };
}

function isTasksMethod(method: string): method is TasksMethod {
  return taskMethods.some((each) => each === method);
}

/**
 * A client that lost the answer repeats its call, expecting the server to find its task by the key. If the call makes no task, nothing is
 * found, and the tool runs twice: it has to say that it may.
 */
function mayRepeat(tool: Tool | undefined, params: JsonObject, { capabilities }: Caller): boolean {
  if (tool === undefined) return false;
  if (tool.task === "forbidden") return isRepeatable(tool);
  return declaresTasks(capabilities) || (tool.task === "optional" && hasIdempotencyKey(params));
}
