import type { CommandResult, TaskCommand } from "../../task/command.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskChange } from "../store.ts";
import { InDoubt, type Answer, type CommittedGroup, type GroupWriter } from "./group-writer.ts";
import { TasksLocked } from "./known-tasks.ts";
import { refusesWrites } from "./postgres-error.ts";
import { isAlone } from "../command-traits.ts";
import { commandSize } from "../lifecycle.ts";
import { mostCreates } from "./task-sql.ts";

/** How long to wait between two checks of a commit (ms). */
const askAgainMs = 100;

export interface WriteQueueSetup {
  readonly writer: Pick<GroupWriter, "commit">;
  /** How long callers wait, if a commit is in doubt, before their command fails (ms). */
  readonly timeoutMs: number;
  /** Called after each commit with its number of commands, before they resolve. */
  readonly onCommit: (changes: readonly TaskChange[], commands: number) => void;
}

interface Waiting {
  /** Monotonic (ms). */
  readonly since: number;
  readonly command: TaskCommand;
  readonly resolve: (result: CommandResult) => void;
  readonly reject: (error: HoldfastError) => void;
}

/** Commands in order of arrival. Those that arrive while a group is written form the next group. */
export class WriteQueue {
  readonly #setup: WriteQueueSetup;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #closed = false;

  constructor(setup: WriteQueueSetup) {
    this.#setup = setup;
  }

  write(command: TaskCommand): Promise<CommandResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ since: performance.now(), command, resolve, reject });
      // In a microtask: the writes of one turn of the event loop form one group.
      this.#writing ??= Promise.resolve().then(() => this.#writeAll());
    });
  }

  /** Resolves when all requested writes are done. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#writing !== undefined) await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#writeGroup(this.#next());
    this.#writing = undefined;
  }

  #next(): readonly Waiting[] {
    return this.#waiting.splice(0, groupLength(commandsOf(this.#waiting)));
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    try {
      this.#answer(group, await this.#setup.writer.commit(group.map(({ command }) => command)));
    } catch (error) {
      if (error instanceof InDoubt) await this.#findOut(group, error);
      else if (error instanceof TasksLocked) await this.#writeUnlocked(group, error);
      else {
        for (const { reject } of group) reject(failure(error));
        this.#giveUpWaiting(failure(error));
      }
    }
  }

  /**
   * No caller waits longer than the database may take, even if several groups before its own fail in turn, nor at all for a server that takes
   * no writes.
   */
  #giveUpWaiting(error: HoldfastError, isOver = false): void {
    const until = performance.now() - (isOver ? 0 : this.#setup.timeoutMs);
    const late = new Set(this.#waiting.filter((each) => isOfCaller(each) && each.since <= until));
    this.#waiting = this.#waiting.filter((each) => !late.has(each));
    for (const { reject } of late) reject(error);
  }

  /** A locked task holds up its own commands, and no others. */
  async #writeUnlocked(group: readonly Waiting[], locked: TasksLocked): Promise<void> {
    const isLocked = ({ command }: Waiting): boolean => "id" in command && locked.ids.has(command.id);
    for (const each of group) if (isLocked(each)) each.reject(locked);
    const rest = group.filter((each) => !isLocked(each));
    if (rest.length > 0) await this.#writeGroup(rest);
  }

  #answer(group: readonly Waiting[], { answers, changes }: CommittedGroup): void {
    this.#setup.onCommit(changes, answers.filter((answer) => "result" in answer).length);
    for (const [index, { resolve, reject }] of group.entries()) {
      const answer: Answer | undefined = answers[index];
      if (answer === undefined) reject(failure(undefined));
      else if ("error" in answer) reject(answer.error);
      else resolve(answer.result);
    }
  }

  /**
   * The connection was lost during the commit. Nothing is written until the result of the commit is known. Meanwhile, outside callers are
   * told that it failed, also those waiting behind the group.
   */
  async #findOut(group: readonly Waiting[], doubt: InDoubt): Promise<void> {
    const refused = new Set<Waiting>();
    const since = performance.now();
    const look = (isOver = false): void => {
      const until = performance.now() - this.#setup.timeoutMs;
      const late = since > until && !isOver ? [] : group.filter(isOfCaller);
      for (const each of late) refused.add(each);
      for (const { reject } of late) reject(doubt);
      this.#giveUpWaiting(doubt, isOver);
    };
    const timer = setInterval(look, askAgainMs);
    let committed: boolean | undefined;
    while (committed === undefined && !this.#closed) {
      committed = await doubt.wasCommitted().catch((error: unknown) => {
        if (refusesWrites(error)) look(true);
        return undefined;
      });
      if (committed === undefined) await new Promise((resolve) => setTimeout(resolve, askAgainMs));
    }
    clearInterval(timer);
    this.#answer(group, committed === true ? doubt.group : doubt.otherwise);
    if (committed === true) this.#releaseUnclaimed([...refused]);
  }

  /** The creators of these tasks do not know that they exist under their tokens, so others may claim them. */
  #releaseUnclaimed(refused: readonly Waiting[]): void {
    for (const { command } of refused) {
      if (command.type !== "create" || command.token === null) continue;
      const { now, token, task } = command;
      // That no attempt has begun is no crash, so the next one begins as if it were the first.
      for (const type of ["mark", "release"] as const) {
        this.write({ type, now, id: task.id, token }).catch(() => undefined);
      }
    }
  }
}

/** A runtime's own writes wait until they are stored, however long that takes. */
function isOfCaller({ command }: Waiting): boolean {
  return command.type !== "claim" && (command.type === "create" || !("token" in command));
}

function* commandsOf(waiting: readonly Waiting[]): Generator<TaskCommand, void, undefined> {
  for (const { command } of waiting) yield command;
}

function failure(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  return new HoldfastError("store_failed", `The database failed: ${String(error)}.`, { cause: error });
}

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
): command is TaskCommand<"send_event" | "wait_event" | "close_wait" | "next_round"> {
  const { type } = command;
  return type === "send_event" || type === "wait_event" || type === "close_wait" || type === "next_round";
}
