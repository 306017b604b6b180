import type { Action, StoredAction, TaskRecord } from "../../task/record.ts";
import { isTerminal } from "../../task/outcome.ts";
import type { AdminStore, PausedTool, TaskRange } from "../admin-store.ts";
import type { QueueLength } from "../queue-length.ts";
import type { TableWrite } from "../table-write.ts";
import { isInRange } from "../task-range.ts";
import { compareText } from "./memory-lists.ts";
import type { StoredTask } from "./stored-task.ts";

type AdminWrite = Extract<TableWrite, { do: "keep_action" | "pause_tool" | "resume_tool" }>;

/** Actions of operators, and their reads. Without indexes, since few enough tasks fit into memory to scan them. */
export class MemoryAdmin {
  readonly #stored: ReadonlyMap<string, StoredTask>;
  readonly #actions: StoredAction[] = [];
  readonly #paused = new Map<string, PausedTool>();

  constructor(stored: ReadonlyMap<string, StoredTask>) {
    this.#stored = stored;
  }

  write(write: AdminWrite): void {
    if (write.do === "keep_action") this.#keep(write.action);
    else if (write.do === "resume_tool") this.#paused.delete(write.tool);
    else if (!this.#paused.has(write.paused.tool)) this.#paused.set(write.paused.tool, write.paused);
  }

  #keep(action: Action): void {
    this.#actions.push({ seq: this.#actions.length + 1, ...action });
  }

  paused(): readonly PausedTool[] {
    return [...this.#paused.values()].toSorted((a, b) => compareText(a.tool, b.tool));
  }

  /** The store's port. `assertOpen` throws unless the store is open. */
  port(assertOpen: () => void): AdminStore {
    const opened = async <T>(read: () => T): Promise<T> => {
      assertOpen();
      return read();
    };
    return {
      tasks: (range, before, limit) => opened(() => this.#tasks(range, before).slice(0, limit)),
      count: (range, most) => opened(() => Math.min(this.#tasks(range, null).length, most)),
      endedTools: () =>
        opened(() => [...new Set(this.#ended().map(({ tool }) => tool))].toSorted(compareText)),
      queues: (most) => opened(() => this.#queues(most)),
      actions: (taskId, before, limit) => opened(() => this.#newestActions(taskId, before, limit)),
      paused: () => opened(() => this.paused()),
    };
  }

  #records(): TaskRecord[] {
    return [...this.#stored.values()].map(({ record }) => record);
  }

  #ended(): readonly TaskRecord[] {
    return this.#records().filter(({ state }) => isTerminal(state));
  }

  #tasks(range: TaskRange, before: string | null): readonly TaskRecord[] {
    const isMeant = (task: TaskRecord): boolean =>
      isInRange(range, task) && (before === null || task.id < before);
    return this.#records()
      .filter(isMeant)
      .sort((a, b) => compareText(b.id, a.id));
  }

  #queues(most: number): readonly QueueLength[] {
    const lengths = new Map<string, QueueLength>();
    for (const { tool, state: taskState, lane, runAfter } of this.#records()) {
      if (taskState !== "queued") continue;
      const state = lane === null ? "parked" : "ready";
      const key = `${state} ${tool}`;
      const { tasks = 0, since = null } = lengths.get(key) ?? {};
      if (tasks === most) continue;
      const first = lane === null ? null : Math.min(since ?? Infinity, runAfter ?? Infinity);
      lengths.set(key, { tool, state, tasks: tasks + 1, since: first });
    }
    return [...lengths.values()];
  }

  #newestActions(taskId: string | null, before: number | null, limit: number): readonly StoredAction[] {
    const isMeant = (action: StoredAction): boolean =>
      (taskId === null || action.taskId === taskId) && action.seq < (before ?? Infinity);
    return this.#actions.filter(isMeant).toReversed().slice(0, limit);
  }
}
