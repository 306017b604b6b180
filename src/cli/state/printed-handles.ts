import type { CallName, HandleStore, KeptCall, KeptCalls } from "../../client/handles/handle-store.ts";
import type { InputResult } from "../../client/question/input-request.ts";
import type { TaskReference } from "../../client/task/task-reference.ts";

/**
 * A handle store that lets go of a task only when its result was printed: to be told of an end is not enough where the
 * reader may be gone. Before the first call it notes how its server can be reached again.
 */
export class PrintedHandles implements HandleStore {
  readonly #store: HandleStore;
  readonly #noteServer: () => Promise<void>;
  readonly #ended: TaskReference[] = [];
  /** Sent, and not answered for all that is known. */
  readonly #unanswered = new Map<string, KeptCall>();

  constructor(store: HandleStore, noteServer: () => Promise<void>) {
    this.#store = store;
    this.#noteServer = noteServer;
  }

  async keep(call: KeptCall): Promise<boolean> {
    if (call.taskId === null) {
      await this.#noteServer();
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

  async list(): Promise<KeptCalls> {
    return this.#store.list();
  }

  async find(task: TaskReference): Promise<KeptCall | undefined> {
    return this.#store.find(task);
  }

  async keepAnswer(task: TaskReference, question: string, answer: InputResult): Promise<void> {
    await this.#store.keepAnswer(task, question, answer);
  }

  async answer(task: TaskReference, question: string): Promise<InputResult | undefined> {
    return this.#store.answer(task, question);
  }

  /** What ended was printed, or its error was. */
  async printed(): Promise<void> {
    for (const task of this.#ended.splice(0)) await this.#store.dropTask(task);
  }

  /** The calls were given up, and there is no way to find out what they became. */
  async forgetUnanswered(): Promise<void> {
    for (const call of this.#unanswered.values()) await this.#store.drop(call);
    this.#unanswered.clear();
  }
}
