import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonRpcError } from "../../task/outcome.ts";
import type { ClientClock } from "../clock.ts";
import { BoundedMap } from "../session/bounded-map.ts";
import type { ActiveTask } from "../session/task-inbox.ts";
import type { CompletedTask, EndedTask, FailedTask } from "../task/remote-task.ts";
import { notBegun, type ReportedTask } from "./read-task.ts";
import { sameJson } from "../../generation/same-json.ts";

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
