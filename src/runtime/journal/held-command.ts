import type { CommandResult, TaskCommand } from "../../task/command.ts";

/** Commands that are valid only under the token of a run. */
export type HeldCommandName =
  | "mark"
  | "record_step"
  | "write_piece"
  | "retry_step"
  | "begin_step"
  | "open_input"
  | "close_wait"
  | "sleep"
  | "end_sleep"
  | "call_tool"
  | "wait_event"
  | "update"
  | "append"
  | "retry"
  | "settle";

/** Commands that begin entries which others end. */
export type OpeningCommandName = "open_input" | "call_tool" | "wait_event";

export type HeldCommand<N extends HeldCommandName> = Omit<TaskCommand<N>, "type" | "now" | "id" | "token">;

/** Reaches the store for a task as long as its run holds it. */
export interface TaskWriter {
  /** Writes under the token. */
  write<N extends HeldCommandName>(type: N, command: HeldCommand<N>): Promise<CommandResult<N>>;
  /** Repeats a call of the store until it answers. */
  persist<T>(ask: () => Promise<T>): Promise<T>;
}
