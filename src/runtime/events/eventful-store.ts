import type { TaskStore } from "../../store/store.ts";
import type { CommandResult } from "../../task/command-result.ts";
import type { TaskCommand, TaskCommandName } from "../../task/command.ts";
import { eventsOf, subject } from "./events-of.ts";
import type { OfTask } from "./server-event.ts";
import type { ServerEvents } from "./server-events.ts";

/**
 * The store as it is, which tells what each write has made happen, before that resolves. Every change of a task is a command, so that
 * nothing that happens to tasks can be forgotten here, and what was refused is not told.
 */
export function eventfulStore(inner: TaskStore, events: ServerEvents): TaskStore {
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
  // A store has parts of its own choice, and methods that need their own `this`.
  return new Proxy(inner, {
    get(target, name) {
      if (name === "write") return write;
      const member: unknown = Reflect.get(target, name);
      const bound: unknown = typeof member === "function" ? member.bind(target) : member;
      return bound;
    },
  });
}

/** Whose task is to be deleted; undefined for one that cannot be read, which the deletion itself will report. */
async function subjectOf(store: TaskStore, id: string): Promise<OfTask | undefined> {
  try {
    const task = await store.get(id);
    return task && subject(task);
  } catch {
    return undefined;
  }
}
