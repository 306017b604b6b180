import type { CreateTaskOptions } from "@modelcontextprotocol/sdk/experimental/tasks";
import type { Request, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { Clock } from "../runtime/clock.ts";
import { requestHash } from "../runtime/request-hash.ts";
import type { TaskCommand } from "../task/command.ts";
import type { TaskMethod, TaskRecord } from "../task/record.ts";
import { taskId } from "../task/task-id.ts";

/** Marks the records of servers on SDK v1: their work is not in our hands, so that no runtime may take them up. */
const scope = "sdk-v1";

/** The token under which such a record runs, in every process: it is held by nobody that could lose it. */
export const token = "sdk-v1";

/** Whether a record is one of a server on SDK v1. */
export function isSdkV1Task(task: TaskRecord): boolean {
  return task.scope === scope && task.generation === "2025-11-25";
}

/** Who asks for a task, and for how long it is to be kept. */
export interface Asked {
  readonly params: CreateTaskOptions;
  readonly requestId: RequestId;
  readonly request: Request;
  readonly sessionId: string | undefined;
  readonly owner: string | undefined;
  readonly ttlMs: number | null;
}

/** The request as it is kept: what a server needs to take its work up again. */
export interface KeptRequest {
  readonly request: Request;
  readonly context?: Record<string, unknown>;
}

/**
 * The command that makes a task of SDK v1. Its ttl counts from its creation while it runs and once more from its end, as
 * in the SDK's own store; the protocol lets a receiver keep a task longer than its ttl (C-104).
 */
export function createTask(asked: Asked, clock: Clock): TaskCommand<"create"> {
  const { params, requestId, request, sessionId, owner, ttlMs } = asked;
  const now = clock.now();
  const id = taskId(now, (size) => clock.randomBytes(size));
  const kept: KeptRequest = params.context === undefined ? { request } : { request, context: params.context };
  return {
    type: "create",
    now,
    token,
    task: {
      id,
      wireId: id,
      generation: "2025-11-25",
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

/** Like no name that a tool of ours can have: a runtime that opens the same store has to find none for it. */
function toolOf({ method, params }: Request): string {
  const name = method === "tools/call" ? params?.["name"] : undefined;
  return `${scope} ${typeof name === "string" ? name : method}`;
}
