import {
  generation,
  createTaskResult,
  declaresTasks,
  missingCapabilities,
} from "../../generation/2026-07-28.ts";
import { readIdempotencyKey } from "../../generation/extensions.ts";
import { metaOf } from "../../generation/message.ts";
import type { Ask } from "../../runtime/execution/run-inline.ts";
import type { Runtime, TaskCall } from "../../runtime/runtime.ts";
import type { Registry } from "../../runtime/tool/registry.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { HoldfastError } from "../../task/fault.ts";
import { DirectReports } from "../log/direct-reports.ts";
import type { PlainCalls } from "../plain/plain-calls.ts";
import { becomesTask } from "./admission.ts";
import { completeAnswerOf, type Answer } from "../answer.ts";
import { receivedBy } from "../received.ts";
import { callerOf, originOf, progressTokenOf, type Caller, type ToolRequest } from "../request.ts";
import { plainCall } from "./plain-call.ts";
import { prepareCall } from "./prepare-call.ts";
import type { RequestStream } from "./request-stream.ts";
import { resumed } from "./mrtr.ts";

/** What a call is answered with. */
export interface Callee {
  readonly runtime: Runtime;
  readonly plain: PlainCalls;
  readonly stream: RequestStream;
}

/** Answers a call of a registered tool, whose arguments are valid, with a task or directly; rejects with a `HoldfastError`. */
export async function callTool(
  { runtime, plain, stream }: Callee,
  tool: Tool,
  request: ToolRequest,
  caller: Caller,
): Promise<Answer> {
  const { params, signal } = request;
  // Read before anybody is asked anything, as its key may be none.
  if (tool.task === "optional" && !declaresTasks(caller.capabilities)) {
    return callPlain({ runtime, plain, stream }, tool, request, caller);
  }
  const isTask = becomesTask(tool, caller.capabilities);
  const call = isTask ? taskCall(runtime.registry, tool, request, caller) : undefined;
  const preparation = await prepareCall(runtime, tool, request, caller);
  if ("answer" in preparation) return preparation.answer;
  const { prepared } = preparation;
  const reports = new DirectReports({
    clock: runtime.clock,
    tool: tool.name,
    progressToken: progressTokenOf(params),
    logLevel: () => caller.logLevel,
    notify: (method, said) => stream.notify(method, said),
  });
  const { progress, log } = reports;
  try {
    if (call !== undefined) return await createTask(runtime, { ...call, prepared, progress, log }, request);
    return completeAnswerOf(
      await runtime.runInline({
        tool,
        arguments: params["arguments"],
        prepared,
        signal,
        ask: cannotAskOf(tool),
        progress,
        log,
        caller: callerOf(request, caller.principal),
        credentials: request.auth?.credentials,
        received: receivedBy(tool, request),
        trace: request.trace?.context,
      }),
    );
  } finally {
    reports.end();
  }
}

function cannotAskOf({ name }: Tool): Ask {
  return async () => {
    throw new HoldfastError(
      "configuration",
      `Tool ${name} never runs as a task, so it cannot ask the client while it runs.`,
    );
  };
}

/** A call of a client without tasks, in its first or a later round. */
async function callPlain(
  { runtime, plain, stream }: Callee,
  tool: Tool,
  request: ToolRequest,
  caller: Caller,
): Promise<Answer> {
  const call = plainCall(runtime, request, caller, stream);
  const { capabilities, principal } = caller;
  // If a polling tool can answer for the client, there have to be a task and its questions first.
  const inTask = plain.policies.of(tool) === "ticket" && missingCapabilities(["elicitation"], capabilities);
  const rounds = tool.prepare !== undefined && !inTask;
  const task = await resumed(runtime, request, principal, rounds ? "another kind" : undefined);
  if (task !== undefined) return plain.continueCall(task, tool, call);
  if (!rounds) return plain.call(tool, call);
  const preparation = await prepareCall(runtime, tool, request, caller);
  return "answer" in preparation ? preparation.answer : plain.call(tool, call, preparation);
}

/** The task's form of the call; throws `invalid_params` for an invalid idempotency key. */
function taskCall(
  registry: Registry,
  tool: Tool,
  request: ToolRequest,
  { capabilities, principal }: Caller,
): TaskCall {
  const { params, access, auth } = request;
  const idempotencyKey = readIdempotencyKey(metaOf(params), principal);
  return {
    generation,
    tool: tool.name,
    arguments: params["arguments"],
    origin: originOf(request, capabilities, registry),
    credentials: auth?.credentials,
    received: receivedBy(tool, request),
    principal,
    scopes: access?.scopes,
    requiredScopes: access?.neededFor(tool.name) ?? [],
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}

async function createTask(runtime: Runtime, call: TaskCall, { signal, trace }: ToolRequest): Promise<Answer> {
  signal.throwIfAborted(); // nothing was promised yet, so nothing is begun
  const end = await runtime.call(call, signal);
  if (end.kind === "outcome") return completeAnswerOf(end.outcome);
  const { task } = end.snapshot;
  trace?.about(task.id);
  // Nobody can receive the id any more. With a key, the caller finds its task by calling again.
  if (signal.aborted && call.idempotencyKey === undefined) await runtime.cancel(task.id, task);
  return { result: { ...createTaskResult(end.snapshot) } };
}
