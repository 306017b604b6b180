import type { MessageQueues, NewMessage, PutMessageResult } from "../message-queues.ts";

/** One message of a queue. */
export interface StoredMessage {
  readonly body: string;
  /** The owner to which it is bound, or null. */
  readonly owner: string | null;
}

/** The queues of tasks, for one owner. */
export class MemoryMessages implements MessageQueues {
  /** Resolves when a write may be applied; rejects once writes are impossible. */
  readonly #commit: () => Promise<void>;
  readonly #owner: () => string;
  /** The queue of a task, first message first. */
  readonly #queueOf: (taskId: string) => StoredMessage[] | undefined;

  constructor(
    commit: () => Promise<void>,
    owner: () => string,
    queueOf: (taskId: string) => StoredMessage[] | undefined,
  ) {
    this.#commit = commit;
    this.#owner = owner;
    this.#queueOf = queueOf;
  }

  async put(
    taskId: string,
    { body, bound }: NewMessage,
    maxMessages: number | null,
  ): Promise<PutMessageResult> {
    await this.#commit();
    const queue = this.#queueOf(taskId);
    if (queue === undefined) return { ok: false, reason: "unknown" };
    if (maxMessages !== null && queue.length >= maxMessages) return { ok: false, reason: "full" };
    queue.push({ body, owner: bound ? this.#owner() : null });
    return { ok: true };
  }

  async take(taskId: string, limit: number | null): Promise<readonly string[]> {
    await this.#commit();
    const queue = this.#queueOf(taskId) ?? [];
    const ours = queue.filter(({ owner }) => owner === null || owner === this.#owner());
    const taken = new Set(ours.slice(0, limit ?? undefined));
    queue.splice(0, queue.length, ...queue.filter((message) => !taken.has(message)));
    return [...taken].map(({ body }) => body);
  }
}
