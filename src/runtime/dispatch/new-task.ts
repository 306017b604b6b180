import type { NewTask, TaskRequest } from "../../task/record.ts";
import { taskId } from "../../task/task-id.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { RuntimeSettings } from "../options.ts";
import { requestHash } from "../request-hash.ts";
import type { TaskCall } from "../runtime.ts";
import type { Services } from "../services.ts";
import type { Tool } from "../tool/tool.ts";

/** The record and request of a new task. */
export interface FreshTask {
  readonly task: NewTask;
  readonly request: TaskRequest;
}

/** Makes the parts of a new task from its call. */
export function newTask(
  call: TaskCall,
  tool: Tool,
  { options, clock, webhooks }: Pick<Services, "options" | "clock" | "webhooks">,
): FreshTask {
  const { raw, hash } = encodeCall(tool, call);
  if (Buffer.byteLength(raw) > options.maxBodyBytes) {
    throw new HoldfastError("invalid_params", `The arguments are larger than ${options.maxBodyBytes} bytes.`);
  }
  const id = call.id ?? taskId(clock.now(), (size) => clock.randomBytes(size));
  return {
    task: {
      id,
      wireId: call.wireId ?? id,
      generation: call.generation,
      scope: call.scope ?? "",
      principal: call.principal,
      method: call.method ?? "tools/call",
      tool: tool.name,
      idempotencyKey: call.idempotencyKey ?? null,
      requestHash: hash,
      requiredScopes: call.requiredScopes ?? [],
      ...lifeOf(call, tool, options, clock.now()),
      pollIntervalMs: tool.pollIntervalMs ?? options.pollIntervalMs,
      statusMessage: null,
      // What another task calls is no task to anybody outside.
      ...(webhooks.length > 0 &&
        call.generation !== "child" && { notifies: webhooks.map(({ name }) => name) }),
    },
    request: {
      origin: call.prepareInTask === true ? { ...call.origin, prepareInTask: true } : call.origin,
      arguments: raw,
      prepared: call.prepared ?? null,
    },
  };
}

/**
 * How long the task may run, and how long it is kept. A ttl limits both. Without one, the task must end after `maxRunMs`, and is kept from
 * its end, which is not known in advance.
 */
function lifeOf(
  call: TaskCall,
  tool: Tool,
  options: RuntimeSettings,
  now: number,
): Pick<NewTask, "runUntil" | "expiry"> {
  const runUntil = now + (tool.maxRunMs ?? options.maxRunMs);
  const askedMs = requestedMs(call, options);
  const ownMs = tool.ttlMs === undefined ? options.ttlMs : tool.ttlMs;
  if (call.keepAlive === true) {
    const ms = askedMs ?? (ownMs === undefined ? options.keepMs : ownMs);
    return { runUntil, expiry: { from: "terminal", ms } };
  }
  const boundsTask = askedMs !== undefined && options.requestedTtl === "task";
  const ttlMs = boundsTask ? askedMs : ownMs;
  const keptMs = call.keptMs ?? (boundsTask ? undefined : askedMs);
  if (ttlMs === undefined) {
    const ms = askedMs ?? Math.min(keptMs ?? Infinity, options.keepMs);
    return { runUntil, expiry: { from: "terminal", ms } };
  }
  if (keptMs === undefined) return { runUntil, expiry: { from: "created", ms: ttlMs } };
  if (ttlMs === null) return { runUntil, expiry: { from: "terminal", ms: keptMs } };
  return { runUntil: now + ttlMs, expiry: { from: "terminal", ms: Math.min(keptMs, ttlMs) } };
}

/** What the requestor asked for, within bounds. */
function requestedMs({ ttlMs }: TaskCall, { minTtlMs, maxTtlMs }: RuntimeSettings): number | undefined {
  if (ttlMs === undefined) return undefined;
  if (!Number.isFinite(ttlMs) || ttlMs < 0) {
    throw new HoldfastError("invalid_params", "A ttl must be a number of milliseconds, 0 or more.");
  }
  return Math.min(Math.max(Math.floor(ttlMs), minTtlMs), maxTtlMs);
}

function encodeCall(
  tool: Tool,
  { arguments: args = {}, answers }: TaskCall,
): { readonly raw: string; readonly hash: string } {
  try {
    return {
      raw: JSON.stringify(args),
      hash: requestHash(tool.name, args, ...(answers === undefined ? [] : [answers])),
    };
  } catch (error) {
    throw new HoldfastError("invalid_params", "The arguments are nested too deeply.", { cause: error });
  }
}
