import type { TaskStore } from "../../store/store.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../../task/command.ts";
import { eventsOf, subject } from "./events-of.ts";
import type { OfTask } from "./server-event.ts";
import type { ServerEvents } from "./server-events.ts";

/**
 * Passes writes to the store unchanged, and emits the events of each before it resolves. Every change of a task is a command, so no event
 * is missed here. Refused commands emit none.
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

/** The owner of a task to be deleted; undefined for one that cannot be read, which the deletion itself reports. */
async function subjectOf(store: Pick<TaskStore, "get">, id: string): Promise<OfTask | undefined> {
  try {
    const task = await store.get(id);
    return task && subject(task);
  } catch {
    return undefined;
  }
}
