import type { RequestId } from "@modelcontextprotocol/server";
import type { Progress, TaskSnapshot } from "../../task/record.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Connection } from "../connection/connection.ts";
import type { LogLine } from "../log/log-lines.ts";
import { sentProgress, shownProgress } from "../log/shown-progress.ts";
import type { Subscribers } from "./subscribers.ts";
import { pushed } from "../tracing/pushed.ts";
import type { Subscriber, SubscriptionSetup, Waiter } from "./subscriber.ts";
import type { NotificationFormat } from "./notification-format.ts";

interface Report {
  readonly progress: Progress;
  readonly wireId: string;
}

/** The notifications about a task: its state when it changed, progress when it grew. */
export class TaskUpdates {
  readonly #runtime: Pick<Runtime, "telemetry" | "clock">;
  readonly #subscribers: Subscribers;
  readonly #format: NotificationFormat;
  #sent: string | undefined;
  /** The last progress that each got. */
  readonly #progress = new WeakMap<Subscriber | Waiter, number>();

  constructor({ runtime, format }: Pick<SubscriptionSetup, "runtime" | "format">, subscribers: Subscribers) {
    this.#runtime = runtime;
    this.#subscribers = subscribers;
    this.#format = format;
  }

  /** Clients have this state: it is sent again only if it changes. */
  known(snapshot: TaskSnapshot): void {
    this.#sent ??= JSON.stringify(this.#format.state?.(snapshot));
  }

  /** A subscriber gets progress beyond what its client may already have, in this state. */
  begin(subscriber: Subscriber | Waiter, { task }: TaskSnapshot): void {
    const sent = sentProgress(task);
    if (sent !== undefined) this.#progress.set(subscriber, sent);
  }

  /** `line`: the newest line of its log that goes with progress. */
  publish(snapshot: TaskSnapshot, line: LogLine | undefined): void {
    const progress = shownProgress(snapshot.task.progress, line);
    if (snapshot.task.finishedAt === null && progress !== undefined) this.#sendProgress(snapshot, progress);
    this.#sendState(snapshot);
  }

  #sendState(snapshot: TaskSnapshot): void {
    const notification = this.#format.state?.(snapshot);
    const text = JSON.stringify(notification);
    if (notification === undefined || text === this.#sent) return;
    this.#sent = text;
    for (const connection of this.#subscribers.connections) {
      const route = this.#subscribers.routeTo(connection);
      if (route === undefined) continue;
      connection.notify(notification.method, notification.params, route.via);
      pushed(this.#runtime, snapshot.task.updatedAt);
    }
  }

  /** It has to grow. Those with a progress token get it as soon as they can be reached. */
  #sendProgress({ task }: TaskSnapshot, progress: Progress): void {
    const report = { progress, wireId: task.wireId };
    for (const follower of this.#subscribers.followers) {
      const route = this.#subscribers.routeTo(follower.connection);
      if (route !== undefined) this.#sendProgressTo(follower, follower.connection, route.via, report);
    }
    for (const waiter of this.#subscribers.waiters) {
      this.#sendProgressTo(waiter, waiter.connection, waiter.request, report);
    }
  }

  #sendProgressTo(
    recipient: Subscriber | Waiter,
    connection: Connection,
    via: RequestId | undefined,
    { progress, wireId }: Report,
  ): void {
    const { progressToken } = recipient;
    if (progressToken === undefined) return;
    if (progress.progress <= (this.#progress.get(recipient) ?? -Infinity)) return;
    this.#progress.set(recipient, progress.progress);
    const notification = this.#format.progress?.(progressToken, progress, wireId);
    if (notification !== undefined) connection.notify(notification.method, notification.params, via);
  }
}
