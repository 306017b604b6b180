import type { TaskStore } from "../../store/store.ts";
import type { CommandResult } from "../../task/command-result.ts";
import type { TaskCommand, TaskCommandName } from "../../task/command.ts";
import { eventsOf, subject } from "./events-of.ts";
import type { OfTask } from "./server-event.ts";
import type { ServerEvents } from "./server-events.ts";

/**
 * The writes of a store as they are, which tell what each has made happen, before it resolves. Every change of a task is a command, so that
 * nothing that happens to tasks can be forgotten here, and what was refused is not told.
 */
export function eventfulWrite(
  inner: Pick<TaskStore, "write" | "get">,
  events: ServerEvents,
): TaskStore["write"] {
  function write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  async function write(command: TaskCommand): Promise<CommandResult> {
    const deleted = command.type === "delete" ? await subjectOf(inner, command.id) : undefined;
    const result = await inner.write(command);
    const thrown =
      "token" in command && command.token !== null ? events.thrownUnder(command.token) : undefined;
    for (const event of eventsOf(command, result, thrown)) events.emit(event);
    if (deleted !== undefined && result.ok) events.emit({ type: "task.deleted", ...deleted });
    return result;
  }
  return write;
}

/** Whose task is to be deleted; undefined for one that cannot be read, which the deletion itself will report. */
async function subjectOf(store: Pick<TaskStore, "get">, id: string): Promise<OfTask | undefined> {
  try {
    const task = await store.get(id);
    return task && subject(task);
  } catch {
    return undefined;
  }
}
