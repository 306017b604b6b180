import {
  type CallName,
  type HandleStore,
  isMadeIn,
  type ResumableSession,
  type StoredCall,
  type StoredCalls,
} from "../../client/handles/handle-store.ts";
import type { InputResult } from "../../client/question/ask-user.ts";
import type { RemoteTask, TaskReference } from "../../client/task/remote-task.ts";
import type { SeenTasks } from "./records.ts";

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
