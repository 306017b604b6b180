import { sameJson } from "../../generation/message.ts";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/message.ts";
import { toolOf } from "../../generation/extensions.ts";
import { type WireStatus, wireStatuses } from "../../generation/sep-1686.ts";
import { isDuration, readTaskId, unknownStatus, Violation, violationOfId } from "../reply/reply.ts";
import type { CompletedTask, EndedTask, FailedTask, RemoteTask, TaskSummary } from "../task/remote-task.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import type { ClientClock } from "../clock.ts";
import { BoundedMap } from "../session/bounded-map.ts";
import type { ActiveTask } from "../session/task-inbox.ts";

/** A task as the server reports it, without its result, its questions and timestamps. */
export interface ReportedTask {
  readonly taskId: string;
  readonly status: WireStatus;
  readonly tool?: string;
  /** Milliseconds from its end; null: no limit. */
  readonly keepAliveMs: number | null;
  readonly pollIntervalMs?: number;
  /** Why a failed task failed. */
  readonly error?: string;
}

const statuses: ReadonlySet<unknown> = new Set(wireStatuses);

/** Reads the answer to `tasks/get` for this task. Invalid hints are ignored. */
export function readTask(answer: JsonObject, taskId: string): ReportedTask | Violation {
  return violationOfId(answer, taskId) ?? readReported(taskId, answer);
}

/** Reads a task of the answer to `tasks/list`. */
export function readListed(task: JsonObject): TaskSummary | Violation {
  const taskId = readTaskId(task, "listed");
  if (taskId instanceof Violation) return taskId;
  if (task["createdAt"] !== undefined)
    return new Violation("In this session the server lists tasks of 2025-11-25 instead of SEP-1686");
  const reported = readReported(taskId, task);
  if (reported instanceof Violation) return reported;
  const { status, error, ...others } = reported;
  const statusMessage = status === "submitted" ? notBegun : error;
  return {
    ...others,
    status: statusOf(status),
    ttlMs: null,
    ...(statusMessage !== undefined && { statusMessage }),
  };
}

/** The status message for `submitted`, which becomes `working`. */
const notBegun = "Not started yet";

function statusOf(status: WireStatus): RemoteTask["status"] {
  switch (status) {
    case "submitted":
      return "working";
    case "unknown": // counts as an end
      return "failed";
    default:
      return status;
  }
}

function readReported(taskId: string, task: JsonObject): ReportedTask | Violation {
  const { status, keepAlive, pollFrequency, error } = task;
  if (!isStatus(status)) return unknownStatus(status);
  const tool = toolOf(task);
  return {
    taskId,
    status,
    ...(tool !== undefined && { tool }),
    keepAliveMs: isDuration(keepAlive) ? keepAlive : null,
    ...(isDuration(pollFrequency) && { pollIntervalMs: pollFrequency }),
    ...(typeof error === "string" && { error }),
  };
}

function isStatus(value: unknown): value is WireStatus {
  return statuses.has(value);
}

/** The common fields of a task. Its timestamps are this client's: the protocol has none. */
type Base = Omit<ActiveTask, "status">;

interface Observation {
  readonly reported: ReportedTask | undefined;
  readonly base: Base;
}

/** How many tasks are remembered. A forgotten one gets new timestamps. */
const maxTasks = 10_000;

/**
 * Adds the timestamps that the protocol lacks: when this client first saw a task, and when its report last changed.
 */
export class ObservedTasks {
  readonly #clock: ClientClock;
  readonly #observed = new BoundedMap<Observation>(maxTasks);

  constructor(clock: ClientClock) {
    this.#clock = clock;
  }

  /** Records that the task exists. */
  begin(taskId: string): void {
    if (this.#observed.get(taskId) === undefined) this.#observe(taskId, undefined);
  }

  /** `submitted` becomes `working` with a status message. */
  active(reported: ReportedTask, status: ActiveTask["status"]): ActiveTask {
    const base = this.#observe(reported.taskId, reported);
    return { ...base, status, ...(reported.status === "submitted" && { statusMessage: notBegun }) };
  }

  completed(taskId: string, result: CallToolResult, reported?: ReportedTask): CompletedTask {
    return { ...this.#observe(taskId, reported), status: "completed", result };
  }

  failed(taskId: string, error: JsonRpcError, reported?: ReportedTask): FailedTask {
    return { ...this.#observe(taskId, reported), status: "failed", error };
  }

  cancelled(taskId: string, reported?: ReportedTask): EndedTask {
    return { ...this.#observe(taskId, reported), status: "cancelled" };
  }

  #observe(taskId: string, reported: ReportedTask | undefined): Base {
    const now = new Date(this.#clock.now()).toISOString();
    const known = this.#observed.get(taskId);
    if (known !== undefined && reported !== undefined && sameJson(known.reported, reported))
      return known.base;
    const { keepAliveMs, pollIntervalMs, tool } = reported ?? known?.base ?? {};
    const base = {
      taskId,
      ...(tool !== undefined && { tool }),
      createdAt: known?.base.createdAt ?? now,
      lastUpdatedAt: now,
      ttlMs: null,
      ...(keepAliveMs !== undefined && { keepAliveMs }),
      ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    };
    this.#observed.set(taskId, { reported, base });
    return base;
  }
}
