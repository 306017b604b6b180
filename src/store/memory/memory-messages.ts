import type { MessageQueues, NewMessage, PutMessageResult } from "../message-queues.ts";

/** Queues that end with their process, and with them all that is bound to it. */
export class MemoryMessages implements MessageQueues {
  readonly #assertOpen: () => void;
  /** The queue that is kept with a task, its first message first. */
  readonly #queueOf: (taskId: string) => string[] | undefined;

  constructor(assertOpen: () => void, queueOf: (taskId: string) => string[] | undefined) {
    this.#assertOpen = assertOpen;
    this.#queueOf = queueOf;
  }

  async put(taskId: string, { body }: NewMessage, maxMessages: number | null): Promise<PutMessageResult> {
    await this.#commit();
    const queue = this.#queueOf(taskId);
    if (queue === undefined) return { ok: false, reason: "unknown" };
    if (maxMessages !== null && queue.length >= maxMessages) return { ok: false, reason: "full" };
    queue.push(body);
    return { ok: true };
  }

  async take(taskId: string, limit: number | null): Promise<readonly string[]> {
    await this.#commit();
    return this.#queueOf(taskId)?.splice(0, limit ?? Infinity) ?? [];
  }

  /** As with any other store, the commit comes after the call, never inside it. */
  async #commit(): Promise<void> {
    this.#assertOpen();
    await Promise.resolve();
  }
}
