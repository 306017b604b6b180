import type { TaskStore } from "../../store/store.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../../task/command.ts";
import type { ProcessCounts } from "./process-counts.ts";

/** Passes writes to the store unchanged, and counts them once they are durable. */
export function countedWrite(
  inner: Pick<TaskStore, "write">,
  counts: Pick<ProcessCounts, "wrote">,
): TaskStore["write"] {
  function write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  function write(command: TaskCommand): Promise<CommandResult> {
    const writing = inner.write(command);
    writing.then(
      (result) => counts.wrote(command, result),
      () => undefined, // whoever wrote hears of it
    );
    return writing; // itself: nobody waits longer for being counted
  }
  return write;
}
