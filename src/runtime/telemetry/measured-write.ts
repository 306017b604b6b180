import type { TaskStore } from "../../store/store.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../../task/command.ts";
import type { ServerMetrics, WriteOutcome } from "./metrics.ts";

/** Passes writes to the store unchanged, and measures each from the request until it is durable, including time spent waiting for others. */
export function measuredWrite(
  inner: Pick<TaskStore, "write">,
  metrics: Pick<ServerMetrics, "wrote">,
): TaskStore["write"] {
  function write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  function write(command: TaskCommand): Promise<CommandResult> {
    const since = performance.now();
    const record = (outcome: WriteOutcome): void =>
      metrics.wrote(command.type, performance.now() - since, outcome);
    const writing = inner.write(command);
    writing.then(
      ({ ok }) => record(ok ? "committed" : "refused"),
      () => record("failed"),
    );
    return writing; // itself: nobody waits longer for being measured
  }
  return write;
}
