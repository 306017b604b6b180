import type { RequestId } from "@modelcontextprotocol/server";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import { waitOutStop, type OnError } from "../faults.ts";
import type { Connection } from "../connection/connection.ts";
import { TaskSubscription, type Wait } from "./task-subscription.ts";
import type { Subscriber } from "./subscriber.ts";
import type { NotificationFormat } from "./notification-format.ts";

/** The tasks of one generation to which connections of this process are subscribed. */
export class TaskSubscriptions {
  readonly #runtime: Runtime;
  readonly #onError: OnError;
  readonly #format: NotificationFormat;
  readonly #subscriptions = new Map<string, TaskSubscription>();
  readonly #waits = new Set<{ readonly connection: Connection; readonly request: RequestId }>();

  constructor(runtime: Runtime, onError: OnError, format: NotificationFormat) {
    this.#runtime = runtime;
    this.#format = format;
    this.#onError = onError;
  }

  /** How many requests wait for the end of a task on unbroken streams. */
  get waiting(): number {
    return [...this.#waits].filter(({ connection, request }) => !connection.isBroken(request)).length;
  }

  /** Subscribes the connection on which a task was created, until the task or the connection ends. */
  follow(created: TaskSnapshot, requestor: Requestor, subscriber: Omit<Subscriber, "informed">): void {
    if (created.task.finishedAt !== null || subscriber.connection.closing.aborted) return;
    this.#subscriptionTo(created.task, requestor).follow(subscriber, created);
  }

  /** A client polled the task; it may be the only one that questions can reach. */
  polled(snapshot: TaskSnapshot, requestor: Requestor, connection: Connection): void {
    // A connection without a session ends with its request.
    if (snapshot.inputs.length === 0 || !connection.streams.initialized) return;
    if (!connection.closing.aborted)
      this.#subscriptionTo(snapshot.task, requestor).polled(connection, snapshot);
  }

  /** Resolves with the finished task (C-059); rejects with `unknown_task`, and with the signal's reason. */
  async finished(
    id: string,
    requestor: Requestor,
    { connection, request, signal, progressToken }: Wait,
  ): Promise<TaskSnapshot> {
    const wait = { connection, request };
    this.#waits.add(wait);
    try {
      const snapshot = await this.#runtime.get(id, requestor);
      if (snapshot.task.finishedAt !== null) return snapshot;
      return await this.#subscriptionTo(snapshot.task, requestor).wait(
        { connection, request, signal, progressToken },
        snapshot,
      );
    } catch (error) {
      return await waitOutStop(error, signal);
    } finally {
      this.#waits.delete(wait);
    }
  }

  #subscriptionTo({ id, wireId, requiredScopes }: TaskRecord, requestor: Requestor): TaskSubscription {
    let subscription = this.#subscriptions.get(id);
    if (subscription === undefined) {
      const onEnd = (): void => void this.#subscriptions.delete(id);
      const about = { id, wireId, requiredScopes, requestor, format: this.#format };
      subscription = new TaskSubscription({
        runtime: this.#runtime,
        ...about,
        onError: this.#onError,
        onEnd,
      });
      this.#subscriptions.set(id, subscription);
    }
    return subscription;
  }
}
