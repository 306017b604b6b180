import type { CreateTaskOptions } from "@modelcontextprotocol/sdk/experimental/tasks";
import type { Request, RequestId, Result, Task } from "@modelcontextprotocol/sdk/types.js";
import type { Clock } from "../runtime/clock.ts";
import { requestHash } from "../runtime/call-keys.ts";
import type { TaskCommand } from "../task/command.ts";
import type { GenerationName, TaskMethod, TaskRecord } from "../task/record.ts";
import { taskId } from "../task/record-changes.ts";
import type { HandlerName } from "../task/queue.ts";
import { errorOutcome } from "../task/outcome.ts";
import { endingOf } from "../task/status-text.ts";
import { cutBytes } from "../task/stored-text.ts";
import { defaultSettings } from "../runtime/options.ts";

/** The scope of records of SDK v1 servers. Their work runs outside Holdfast, so no runtime may claim them. */
const scope = "sdk-v1";

/** The token of these records. It is the same in every process, since no attempt holds it. */
export const token = "sdk-v1";

/** Its experimental tasks are those in the core of protocol 2025-11-25. */
export const generation = "2025-11-25" as const satisfies GenerationName;

/** Whether a record belongs to an SDK v1 server. */
export function isSdkV1Task(task: TaskRecord): boolean {
  return task.scope === scope && task.generation === generation;
}

/** Whether the handler belongs only to tasks of SDK v1 servers, which no process claims to run. */
export function isSdkV1Handler({ tool }: HandlerName): boolean {
  return tool.startsWith(`${scope} `);
}

/** What a task is created from. */
export interface CreateRequest {
  readonly params: CreateTaskOptions;
  readonly requestId: RequestId;
  readonly request: Request;
  readonly sessionId: string | undefined;
  readonly owner: string | undefined;
  readonly ttlMs: number | null;
}

/** The stored request: what a server needs to resume the work. */
export interface StoredRequest {
  readonly request: Request;
  readonly context?: Record<string, unknown>;
}

/**
 * The command that creates a task. Its ttl runs from its creation, and again from its end, as in the SDK's own
 * store; the protocol lets a receiver keep a task longer than its ttl (C-104).
 */
export function createTask(
  asked: CreateRequest,
  { clock }: { readonly clock: Clock },
): TaskCommand<"create"> {
  const { params, requestId, request, sessionId, owner, ttlMs } = asked;
  const now = clock.now();
  const id = taskId(now, (size) => clock.randomBytes(size));
  const kept: StoredRequest =
    params.context === undefined ? { request } : { request, context: params.context };
  return {
    type: "create",
    now,
    token,
    task: {
      id,
      wireId: id,
      generation,
      scope,
      principal: owner ?? null,
      method: methodOf(request),
      tool: toolOf(request),
      idempotencyKey: null,
      requestHash: requestHash(request.method, request.params ?? {}),
      requiredScopes: [],
      expiry: { from: "terminal", ms: ttlMs },
      runUntil: ttlMs === null ? null : now + ttlMs,
      pollIntervalMs: Math.max(0, Math.ceil(params.pollInterval ?? 1000)),
      statusMessage: null,
    },
    request: {
      origin: { requestId, capabilities: {}, ...(sessionId === undefined ? {} : { session: sessionId }) },
      arguments: JSON.stringify(kept),
      prepared: null,
    },
  };
}

function methodOf({ method }: Request): TaskMethod {
  switch (method) {
    case "tools/call":
    case "sampling/createMessage":
    case "elicitation/create":
      return method;
    default:
      return "other";
  }
}

/** A name that no Holdfast tool can have: a runtime on the same store must find no tool for this task. */
function toolOf({ method, params }: Request): string {
  const name = method === "tools/call" ? params?.["name"] : undefined;
  return `${scope} ${typeof name === "string" ? name : method}`;
}

/** The outcome of a task that was set to completed without a result. */
export const noResult = "null";

/** Ends a task with a result. The server's status counts, not the result's `isError`. */
export function resultCommand(
  id: string,
  status: "completed" | "failed",
  result: Result,
  now: number,
): TaskCommand<"settle"> {
  const kind = status === "completed" ? "result" : "error_result";
  // A server in plain JavaScript may pass undefined.
  const body = (JSON.stringify(result) as string | undefined) ?? noResult;
  return { type: "settle", now, id, token, ...endingOf({ kind, body }) };
}

/** Sets a task's status, and its status message unless that is empty. */
export function statusCommand(
  id: string,
  status: Task["status"],
  text: string | undefined,
  now: number,
): TaskCommand<"update" | "settle" | "cancel"> {
  const about = { now, id, token };
  const described =
    text === undefined || text === ""
      ? {}
      : { statusMessage: cutBytes(text, defaultSettings.maxStatusBytes) };
  switch (status) {
    case "working":
    case "input_required":
      return { ...about, type: "update", changes: { ...described, waiting: status === "input_required" } };
    case "cancelled":
      return { type: "cancel", now, id, ...described };
    case "completed":
      return { ...about, ...described, type: "settle", outcome: { kind: "result", body: noResult } };
    case "failed": {
      const message = described.statusMessage ?? "The task failed.";
      return { ...about, type: "settle", ...endingOf(errorOutcome({ code: -32603, message })), ...described };
    }
  }
}
