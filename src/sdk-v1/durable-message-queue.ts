import type { QueuedMessage, TaskMessageQueue } from "@modelcontextprotocol/sdk/experimental/tasks";
import type { MessageQueues } from "../store/message-queues.ts";
import { HoldfastError } from "../task/fault.ts";

/**
 * The SDK's `TaskMessageQueue`, kept in a Holdfast store. Deleting a task deletes its queue. Session ids are
 * ignored, as in the SDK's own queue: the SDK checks the access to a task before it takes messages.
 */
export class DurableMessageQueue implements TaskMessageQueue {
  readonly #queues: MessageQueues;

  constructor(queues: MessageQueues) {
    this.#queues = queues;
  }

  /** Throws `queue_full` beyond `maxSize`, and `unknown_task` if the task does not exist. */
  async enqueue(
    taskId: string,
    message: QueuedMessage,
    _sessionId?: string,
    maxSize?: number,
  ): Promise<void> {
    // Requests and responses are useless to another process: the code that waits for them is in this one.
    const bound = message.type !== "notification";
    const body = JSON.stringify(message);
    const put = await this.#queues.put(taskId, { body, bound }, maxSize ?? null);
    if (put.ok) return;
    if (put.reason === "unknown") {
      throw new HoldfastError("unknown_task", `Task with ID ${taskId} not found`);
    }
    throw new HoldfastError(
      "queue_full",
      `Task message queue overflow: queue size (${maxSize}) exceeds maximum (${maxSize})`,
    );
  }

  async dequeue(taskId: string, _sessionId?: string): Promise<QueuedMessage | undefined> {
    const [first] = await this.#take(taskId, 1);
    return first;
  }

  async dequeueAll(taskId: string, _sessionId?: string): Promise<QueuedMessage[]> {
    return this.#take(taskId, null);
  }

  async #take(id: string, limit: number | null): Promise<QueuedMessage[]> {
    const bodies = await this.#queues.take(id, limit);
    return bodies.map((body) => JSON.parse(body) as QueuedMessage);
  }
}
