import type { CallName, HandleStore, KeptCall, KeptCalls } from "../../client/handles/handle-store.ts";
import type { InputResult } from "../../client/question/input-request.ts";
import type { TaskReference } from "../../client/task/task-reference.ts";

/**
 * A handle store that removes a task only after its outcome was printed, not when it was received: the reader of
 * the output may be gone. Stores how to reach the server before the first call.
 */
export class PrintedHandles implements HandleStore {
  readonly #store: HandleStore;
  readonly #noteServer: () => Promise<void>;
  readonly #ended: TaskReference[] = [];
  /** Calls without an answer. */
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

  /** Removes the ended tasks: their outcome or error was printed. */
  async printed(): Promise<void> {
    for (const task of this.#ended.splice(0)) await this.#store.dropTask(task);
  }

  /** Removes interrupted calls whose tasks cannot be found. */
  async forgetUnanswered(): Promise<void> {
    for (const call of this.#unanswered.values()) await this.#store.drop(call);
    this.#unanswered.clear();
  }
}
