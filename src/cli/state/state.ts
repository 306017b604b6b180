import { join } from "node:path";
import type { Tool } from "@modelcontextprotocol/client";
import { fileLoginsWith } from "../../client/auth/file-logins.ts";
import type { LoginStore } from "../../client/auth/login.ts";
import { fileHandles } from "../../client/handles/file-handles.ts";
import {
  type CallName,
  type HandleStore,
  type StoredCall,
  isMadeIn,
  type ResumableSession,
  type StoredCalls,
} from "../../client/handles/handle-store.ts";
import { type Io, stateFolder } from "../io.ts";
import { shownGiven, shownName, type FoundServer, type ServerSpec } from "../server/find-server.ts";
import { UsageError } from "../errors.ts";
import { OpenSessions } from "../session/open-sessions.ts";
import { KnownServers, type KnownTool, Records, type Seen, SeenTasks, TrustedEntries } from "./records.ts";
import { LoginSealing } from "./login-sealing.ts";
import { isJsonObject } from "../../generation/message.ts";
import type { InputResult } from "../../client/question/ask-user.ts";
import type { RemoteTask, TaskReference } from "../../client/task/remote-task.ts";

/** A task that was started here, or a call without an answer. */
export interface KnownTask {
  /** The task's id; for a call without an answer its idempotency key. */
  readonly id: string;
  /** Without its arguments if the task is over. */
  readonly call: StoredCall;
  /** Undefined if the record of the server is lost, and its name is not a URL. */
  readonly server: ServerSpec | undefined;
  /** The server as it was given, to be shown. */
  readonly shown: string;
  /** The task's state when a command last saw it. */
  readonly seen: Seen | undefined;
  /** Whether its outcome was printed. */
  readonly isOver: boolean;
}

/** The calls and tasks of this user, including finished ones. */
export class State {
  readonly logins: LoginStore;
  /** How they are encrypted. */
  readonly sealing: LoginSealing;
  readonly trusted: TrustedEntries;
  readonly sessions: OpenSessions;
  readonly #store: HandleStore;
  readonly #servers: KnownServers;
  readonly #seen: SeenTasks;
  readonly #records: Records;
  readonly #cwd: string;

  constructor(io: Io) {
    const folder = stateFolder(io);
    const file = join(folder, "state.db");
    this.#store = fileHandles(file);
    const records = new Records(file);
    this.#records = records;
    this.#servers = new KnownServers(records);
    this.#seen = new SeenTasks(records, io.now);
    this.trusted = new TrustedEntries(records);
    this.sessions = new OpenSessions(records);
    this.sealing = new LoginSealing(folder, io.env["HOLDFAST_KEYRING"]);
    this.logins = fileLoginsWith(join(folder, "logins"), { sealing: this.sealing });
    this.#cwd = io.cwd;
  }

  /** The handle store for a connection to that server. */
  handlesFor(server: FoundServer): CommandHandles {
    return new CommandHandles(this.#store, this.#seen, {
      noteServer: () => this.#servers.keep(server),
      isOpen: async () => (await this.sessions.ofServer(server.name)) !== undefined,
    });
  }

  /** Earlier values of SERVER, without those that have more in them than may be shown. */
  async serversGiven(): Promise<readonly string[]> {
    const all = this.#servers.list().map(({ spec }) => spec.given);
    return all.filter((given) => shownGiven(given) === given);
  }

  /** The names of the tools that this server listed; of all servers, if it is not known. */
  async toolsOf(given: string | undefined): Promise<readonly string[]> {
    const all = this.#servers.list();
    const named = all.filter(({ spec }) => spec.given === given);
    return (named.length > 0 ? named : all).flatMap(({ tools }) => tools.map(({ name }) => name));
  }

  /** The tools of all servers, as they were last listed. */
  async knownTools(): Promise<readonly (KnownTool & { readonly server: string })[]> {
    const all = this.#servers.list();
    return all.flatMap(({ spec, tools }) =>
      tools.map((tool) => ({ ...tool, server: shownGiven(spec.given) })),
    );
  }

  /** Stores the names of a server's tools, and what they are about, for completion and search. */
  async noteTools(server: FoundServer, tools: readonly Pick<Tool, "name" | "description">[]): Promise<void> {
    const known = tools.map(({ name, description = "" }) => ({
      name,
      about: description.trim().split("\n")[0] ?? "",
    }));
    try {
      this.#servers.keep(server, known);
    } catch {
      // The state folder may be read-only.
    }
  }

  /** The tasks, oldest first, including finished ones, and the files that cannot be read. */
  async list(): Promise<{ readonly tasks: readonly KnownTask[]; readonly damaged: readonly string[] }> {
    const { calls, damaged } = await this.#store.list();
    const seen = new Map(this.#seen.list().map((task) => [nameOf(task.call), task]));
    const open = calls.map((call) => ({ call, seen: seen.get(nameOf(call))?.seen, isOver: false }));
    for (const call of calls) seen.delete(nameOf(call));
    const over = [...seen.values()]
      .filter((task) => task.seen.hasEnded)
      .map((task) => ({ ...task, isOver: true }));
    // Nothing waits for unfinished ones any more: their servers have lost them.
    this.#seen.drop(...[...seen.values()].filter((task) => !task.seen.hasEnded).map(({ call }) => call));
    const servers = new Map(this.#servers.list().map(({ name, spec }) => [name, spec]));
    const all = [...open, ...over].toSorted((one, other) => one.call.startedAt - other.call.startedAt);
    const tasks = all.map(({ call, ...task }): KnownTask => {
      const server = servers.get(call.server);
      const named = isAddress(call.server)
        ? { given: call.server, cwd: this.#cwd, isFromReference: true as const }
        : undefined;
      const shown = server === undefined ? shownName(call.server) : shownGiven(server.given);
      return { id: call.taskId ?? call.key, call, server: server ?? named, shown, ...task };
    });
    return { tasks, damaged: damaged.map(({ name }) => name) };
  }

  /** Numbers the tasks of a list; the numbers are valid until the next list. An id is never another task's number. */
  async number(tasks: readonly KnownTask[]): Promise<readonly number[]> {
    const ids = new Set(tasks.map(({ id }) => id));
    const numbers: number[] = [];
    for (let next = 1; numbers.length < tasks.length; next++) if (!ids.has(String(next))) numbers.push(next);
    const named = tasks.map(({ call: { server, generation, key } }, at) => ({
      number: numbers[at] ?? 0,
      server,
      generation,
      key,
    }));
    try {
      this.#records.set("numbers", "", { tasks: named });
    } catch {
      // The state folder may be read-only.
    }
    return numbers;
  }

  /**
   * Finds a task by its id, the beginning of its id, its number in the last list, or `last`: among those that the first of `meant`
   * accepts, or else the next. Throws a UsageError for several matches and an empty name.
   */
  async find(
    named: string,
    meant: readonly ((task: KnownTask) => boolean)[] = [() => true],
  ): Promise<KnownTask | undefined> {
    if (named === "")
      throw new UsageError("The id is empty. Give a task's id or the start of it; holdfast ls lists them.");
    const { tasks } = await this.list();
    const isNumber = named !== "last" && !tasks.some(({ id }) => id === named);
    const numbered = isNumber ? this.#numbered(named) : undefined;
    for (const isMeant of meant) {
      const found = matching(named, numbered, tasks.filter(isMeant));
      if (found.length === 1) return found[0];
      if (found.length === 0) continue;
      const ids = found.map(({ id, shown }) => `${id} (${shown})`).join(", ");
      throw new UsageError(
        `Several tasks match ${JSON.stringify(named)}: ${ids}. Give more of the id, or --server.`,
      );
    }
    if (numbered !== undefined)
      throw new UsageError(`Number ${named} is no longer on your list. See holdfast ls.`);
    return undefined;
  }

  /** Whether the task is still on the list, and its outcome was not printed yet. */
  async isWaitedFor({ call }: KnownTask): Promise<boolean> {
    const { tasks } = await this.list();
    return tasks.some((task) => !task.isOver && nameOf(task.call) === nameOf(call));
  }

  /** Removes the task from the list. The task itself continues. */
  async forget({ call }: KnownTask): Promise<void> {
    const { taskId } = call;
    await (taskId === null ? this.#store.drop(call) : this.#store.dropTask({ ...call, taskId }));
    this.#seen.drop(call);
  }

  #numbered(named: string): CallName | undefined {
    if (!/^[1-9]\d{0,5}$/.test(named)) return undefined;
    const tasks = this.#records.get("numbers", "")?.["tasks"];
    return Array.isArray(tasks)
      ? tasks.filter(isNumbered).find(({ number }) => number === Number(named))
      : undefined;
  }
}

function matching(
  named: string,
  numbered: CallName | undefined,
  tasks: readonly KnownTask[],
): readonly KnownTask[] {
  const exact = tasks.filter(({ id }) => id === named);
  if (exact.length > 0) return exact;
  if (named === "last") return tasks.slice(-1);
  if (numbered === undefined) return beginningWith(named, tasks);
  return tasks.filter(({ call }) => nameOf(call) === nameOf(numbered));
}

/** Unfinished tasks take precedence, so the beginning of an id stays valid. */
function beginningWith(prefix: string, tasks: readonly KnownTask[]): readonly KnownTask[] {
  const found = tasks.filter(({ id }) => id.startsWith(prefix));
  const open = found.filter(({ isOver }) => !isOver);
  return open.length > 0 ? open : found;
}

/** Whether a server's name is its whole address: some name a variable of it, or hide values. */
function isAddress(name: string): boolean {
  return /^https?:/.test(name) && shownName(name) === name && !name.includes("${");
}

function nameOf({ server, generation, key }: CallName): string {
  return JSON.stringify([server, generation, key]);
}

function isNumbered(value: unknown): value is CallName & { readonly number: number } {
  if (!isJsonObject(value)) return false;
  const { number, server, generation, key } = value;
  return typeof number === "number" && [server, generation, key].every((name) => typeof name === "string");
}

interface ServerNotes {
  /** Stores how to reach the server. */
  readonly noteServer: () => void;
  /** Whether `holdfast open` keeps its sessions. */
  readonly isOpen: () => Promise<boolean>;
}

/**
 * A handle store that removes a task only after its outcome was printed, not when it was received: the reader of
 * the output may be gone. Stores how to reach the server before the first call.
 */
export class CommandHandles implements HandleStore {
  readonly #store: HandleStore;
  readonly #server: ServerNotes;
  readonly #seen: SeenTasks;
  readonly #ended: TaskReference[] = [];
  /** The last states of tasks, by the tasks' ids. */
  readonly #states = new Map<string, { readonly reference: TaskReference; readonly task: RemoteTask }>();
  /** Calls without an answer. */
  readonly #unanswered = new Map<string, StoredCall>();

  constructor(store: HandleStore, seen: SeenTasks, server: ServerNotes) {
    this.#store = store;
    this.#seen = seen;
    this.#server = server;
  }

  /** The keys of calls without an answer. */
  get unanswered(): Iterable<string> {
    return this.#unanswered.keys();
  }

  async keep(call: StoredCall): Promise<boolean> {
    if (call.taskId === null) {
      this.#server.noteServer();
      this.#unanswered.set(call.key, call);
    } else this.#unanswered.delete(call.key);
    return this.#store.keep(call);
  }

  async drop(call: CallName): Promise<void> {
    this.#unanswered.delete(call.key);
    await this.#store.drop(call);
  }

  async dropTask(task: TaskReference): Promise<void> {
    this.#ended.push(task);
  }

  async list(): Promise<StoredCalls> {
    return this.#store.list();
  }

  async find(task: TaskReference): Promise<StoredCall | undefined> {
    return this.#store.find(task);
  }

  /** Counts open sessions, and finished tasks on the list too: their results can be read again while their session exists. */
  async usesSession(session: ResumableSession): Promise<boolean> {
    if ((await this.#server.isOpen()) || (await this.#store.usesSession(session))) return true;
    return this.#seen.readable().some(({ call }) => isMadeIn(call, session));
  }

  async keepSession(session: ResumableSession): Promise<void> {
    await this.#store.keepSession(session);
  }

  async findSession(server: string, generation: string): Promise<ResumableSession | undefined> {
    return this.#store.findSession(server, generation);
  }

  async dropSession(session: ResumableSession): Promise<boolean> {
    return this.#store.dropSession(session);
  }

  async keepAnswer(task: TaskReference, question: string, answer: InputResult): Promise<void> {
    await this.#store.keepAnswer(task, question, answer);
  }

  async answer(task: TaskReference, question: string): Promise<InputResult | undefined> {
    return this.#store.answer(task, question);
  }

  /** Records for the list that its server does not know the task. Errors are ignored, as of other states. */
  sawNone(call: StoredCall, status: "lost" | "expired"): void {
    try {
      this.#seen.keepLost(call, status);
    } catch {
      // The state folder may be read-only.
    }
  }

  /** Records the task's state for the list. */
  saw(reference: TaskReference | null, task: RemoteTask): void {
    if (reference !== null) this.#states.set(reference.taskId, { reference, task });
  }

  /** Removes the ended tasks, whose outcome or error was printed. Their last state stays on the list for a while. */
  async printed(ended: readonly TaskReference[] = []): Promise<void> {
    await this.noteStates();
    for (const task of [...this.#ended.splice(0), ...ended]) await this.#store.dropTask(task);
  }

  /** Records the states of this user's tasks. Errors are ignored: the server knows the states better. */
  async noteStates(): Promise<void> {
    for (const { reference, task } of this.#states.values()) {
      const call = await this.#store.find(reference).catch(() => undefined);
      try {
        if (call !== undefined) this.#seen.keep(call, task);
      } catch {
        break; // the state folder may be read-only
      }
    }
    this.#states.clear();
  }

  /** Removes interrupted calls whose tasks cannot be found. */
  async forgetUnanswered(): Promise<void> {
    for (const call of this.#unanswered.values()) await this.#store.drop(call);
    this.#unanswered.clear();
  }
}
