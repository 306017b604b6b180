import type { TaskCommand, TaskCommandName } from "../../task/command.ts";
import { commandSize } from "../command-size.ts";
import { mostCreates } from "./usage-sql.ts";

/** The maximum size of a group: commands, and the bytes of their texts. */
const mostCommands = 200;
const mostBytes = 8 * 1024 * 1024;

/** How many of the first commands can be decided together; at least one, however large it is. */
export function groupLength(commands: Iterable<TaskCommand>): number {
  let [count, creates, bytes] = [0, 0, 0];
  const about = new Set<string>();
  const events = new Set<string>();
  for (const command of commands) {
    bytes += commandSize(command);
    if (command.type === "create") creates++;
    const isFull = count === mostCommands || creates > mostCreates || bytes > mostBytes;
    if (count > 0 && (isFull || isAlone(command) || turnsOnOthers(command, about, events))) return count;
    count++;
    if (isAlone(command)) return count;
    if ("id" in command) about.add(command.id);
    if (concernsEvents(command)) events.add(command.id);
  }
  return count;
}

/** Commands about many tasks or deliveries. */
function isAlone({ type }: TaskCommand): boolean {
  return aloneTypes.has(type);
}

const aloneTypes: ReadonlySet<TaskCommandName> = new Set([
  "claim",
  "wake",
  "reclaim",
  "delete_expired",
  "claim_deliveries",
  "resend_deliveries",
  "trim_deliveries",
]);

/** Only the first waits and events of a task are read, and failed entries are removed from its journal before other commands write there. */
function turnsOnOthers(
  command: TaskCommand,
  about: ReadonlySet<string>,
  events: ReadonlySet<string>,
): boolean {
  return (
    (command.type === "retry" && about.has(command.id)) || (concernsEvents(command) && events.has(command.id))
  );
}

function concernsEvents(
  command: TaskCommand,
): command is TaskCommand<"send_event" | "wait_event" | "close_wait"> {
  const { type } = command;
  return type === "send_event" || type === "wait_event" || type === "close_wait";
}
