import type { StoredAction } from "../task/action.ts";
import type { OutcomeKind } from "../task/outcome.ts";
import type { GenerationName } from "../task/generations.ts";
import type { TaskRecord } from "../task/record.ts";
import type { QueueLength } from "./queue-length.ts";

/** How a task ended. `settled`: with an outcome, of which an older schema does not say in its index what it is. */
export type EndedAs = OutcomeKind | "cancelled" | "settled";

/** Tasks that stand together in an index, by their ids. */
export type TaskRange =
  | { readonly of: "all" }
  /** Unfinished, of all tools. */
  | { readonly of: "open" }
  /** Unfinished, with questions that wait for an answer. */
  | { readonly of: "asking" }
  | { readonly of: "ended"; readonly tool: string; readonly as: EndedAs }
  | { readonly of: "principal"; readonly generation: GenerationName; readonly principal: string | null }
  /** Unfinished, whose tools the handler of a task called. */
  | { readonly of: "children"; readonly parent: string };

/** What operators read of a store. Each read goes through an index, and passes no more than it says. */
export interface AdminStore {
  /** At most `limit` tasks of a range with ids below `before` (null: from the newest), newest first. Tasks that cannot be read are left out. A page of fewer than `limit` is the last. */
  tasks(range: TaskRange, before: string | null, limit: number): Promise<readonly TaskRecord[]>;
  /** How many tasks a range has, at most `most`. */
  count(range: TaskRange, most: number): Promise<number>;
  /** The names of tools, in their order, of which there are tasks that have ended. */
  endedTools(): Promise<readonly string[]>;
  /** How long the queues of tools are that are not empty; of each no more than `most` tasks are looked at. */
  queues(most: number): Promise<readonly QueueLength[]>;
  /** Actions, of one task where that is given, newest first: at most `limit` with numbers below `before` (null: from the newest). */
  actions(taskId: string | null, before: number | null, limit: number): Promise<readonly StoredAction[]>;
  /** Tools whose tasks nobody starts, in the order of their names. */
  paused(): Promise<readonly PausedTool[]>;
}

export interface PausedTool {
  readonly tool: string;
  /** Epoch ms. */
  readonly since: number;
  readonly actor: string;
}
