import type { RequestId } from "@modelcontextprotocol/server";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { Connection } from "../connection/connection.ts";
import type { Subscribers } from "./subscribers.ts";
import type { Subscriber, Waiter } from "./subscriber.ts";
import type { NotificationFormat } from "./notification-format.ts";

/** The notifications about a task: its state when it changed, progress when it grew. */
export class TaskUpdates {
  readonly #subscribers: Subscribers;
  readonly #format: NotificationFormat;
  #sent: string | undefined;
  /** The last progress that each got. */
  readonly #progress = new WeakMap<Subscriber | Waiter, number>();

  constructor(subscribers: Subscribers, format: NotificationFormat) {
    this.#subscribers = subscribers;
    this.#format = format;
  }

  /** Clients have this state: it is sent again only if it changes. */
  known(snapshot: TaskSnapshot): void {
    this.#sent ??= JSON.stringify(this.#format.state?.(snapshot));
  }

  publish(snapshot: TaskSnapshot): void {
    if (snapshot.task.finishedAt === null) this.#sendProgress(snapshot);
    this.#sendState(snapshot);
  }

  #sendState(snapshot: TaskSnapshot): void {
    const notification = this.#format.state?.(snapshot);
    const text = JSON.stringify(notification);
    if (notification === undefined || text === this.#sent) return;
    this.#sent = text;
    for (const connection of this.#subscribers.connections) {
      const route = this.#subscribers.routeTo(connection);
      if (route !== undefined) connection.notify(notification.method, notification.params, route.via);
    }
  }

  /** It has to grow. Those with a progress token get it as soon as they can be reached. */
  #sendProgress(snapshot: TaskSnapshot): void {
    for (const follower of this.#subscribers.followers) {
      const route = this.#subscribers.routeTo(follower.connection);
      if (route !== undefined) this.#sendProgressTo(follower, follower.connection, route.via, snapshot);
    }
    for (const waiter of this.#subscribers.waiters) {
      this.#sendProgressTo(waiter, waiter.connection, waiter.request, snapshot);
    }
  }

  #sendProgressTo(
    recipient: Subscriber | Waiter,
    connection: Connection,
    via: RequestId | undefined,
    { task }: TaskSnapshot,
  ): void {
    const { progressToken } = recipient;
    if (task.progress === null || progressToken === undefined) return;
    const { progress } = task.progress;
    if (progress <= (this.#progress.get(recipient) ?? -Infinity)) return;
    this.#progress.set(recipient, progress);
    const notification = this.#format.progress?.(progressToken, task.progress, task.wireId);
    if (notification !== undefined) connection.notify(notification.method, notification.params, via);
  }
}
