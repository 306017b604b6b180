import { isDeepStrictEqual } from "node:util";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonRpcError } from "../../task/outcome.ts";
import type { ClientClock } from "../clock.ts";
import { Recent } from "../session/recent.ts";
import type { OngoingTask } from "../session/task-room.ts";
import type { CompletedTask, EndedTask, FailedTask } from "../task/remote-task.ts";
import { notBegun, type ToldTask } from "./read-task.ts";

/** What a server told of a task is told of by its own clock here, for there are no times on the wire. */
type Base = Omit<OngoingTask, "status">;

interface Seen {
  readonly told: ToldTask | undefined;
  readonly base: Base;
}

/** How many tasks are remembered; one that was forgotten is as one that was just heard of. */
const mostTasks = 10_000;

/** When this client heard of which task, and what it heard: the same told twice is no change. */
export class SeenTasks {
  readonly #clock: ClientClock;
  readonly #seen = new Recent<Seen>(mostTasks);

  constructor(clock: ClientClock) {
    this.#clock = clock;
  }

  /** The task is there. */
  begin(taskId: string): void {
    if (this.#seen.get(taskId) === undefined) this.#note(taskId, undefined);
  }

  /** `submitted` has no status of its own here: its text says it. */
  goesOn(told: ToldTask, status: OngoingTask["status"]): OngoingTask {
    const base = this.#note(told.taskId, told);
    return { ...base, status, ...(told.status === "submitted" && { statusMessage: notBegun }) };
  }

  completed(taskId: string, result: CallToolResult, told?: ToldTask): CompletedTask {
    return { ...this.#note(taskId, told), status: "completed", result };
  }

  failed(taskId: string, error: JsonRpcError, told?: ToldTask): FailedTask {
    return { ...this.#note(taskId, told), status: "failed", error };
  }

  cancelled(taskId: string, told?: ToldTask): EndedTask {
    return { ...this.#note(taskId, told), status: "cancelled" };
  }

  #note(taskId: string, told: ToldTask | undefined): Base {
    const now = new Date(this.#clock.now()).toISOString();
    const known = this.#seen.get(taskId);
    if (known !== undefined && told !== undefined && isDeepStrictEqual(known.told, told)) return known.base;
    const { keepAliveMs, pollIntervalMs, tool } = told ?? known?.base ?? {};
    const base = {
      taskId,
      ...(tool !== undefined && { tool }),
      createdAt: known?.base.createdAt ?? now,
      lastUpdatedAt: now,
      ttlMs: null,
      ...(keepAliveMs !== undefined && { keepAliveMs }),
      ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    };
    this.#seen.set(taskId, { told, base });
    return base;
  }
}
