import { isAtLeast } from "../../generation/message.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Connection } from "../connection/connection.ts";
import { logLines, type LogLine } from "../log/log-lines.ts";
import { newestShown } from "../log/shown-progress.ts";
import type { SubscriptionSetup } from "./subscriber.ts";
import type { Subscribers } from "./subscribers.ts";

type Setup = Pick<SubscriptionSetup, "runtime" | "requestor" | "format">;

/** The lines of a task's log, which each connection gets once, from when it began to follow the task. */
export class LogUpdates {
  readonly #setup: Setup;
  readonly #subscribers: Subscribers;
  /** The last line that each connection got, or did not want. */
  readonly #sent = new WeakMap<Connection, number>();
  /** The last line that was looked at for progress. */
  #seen = 0;
  #newest: LogLine | undefined;

  constructor(setup: Setup, subscribers: Subscribers) {
    this.#setup = setup;
    this.#subscribers = subscribers;
  }

  /** The newest line that goes with progress, as far as lines were read. */
  get newest(): LogLine | undefined {
    return this.#newest;
  }

  /** A connection is about to subscribe; its client has this state of the task. */
  begin(connection: Connection, { logged }: TaskRecord): void {
    if (!this.#subscribers.connections.has(connection)) this.#sent.set(connection, logged);
  }

  /** Whether a reachable client wants lines of this state that were not read yet. */
  isBehind(task: TaskRecord): boolean {
    return this.#wantedAfter(task) < task.logged;
  }

  /** Reads the wanted lines of this state, and sends them. */
  async send(task: TaskRecord): Promise<void> {
    const { runtime, requestor, format } = this.#setup;
    const after = this.#wantedAfter(task);
    const lines = await logLines(runtime, task, requestor, after);
    if (after <= this.#seen) {
      this.#newest = newestShown(lines) ?? this.#newest;
      this.#seen = task.logged;
    }
    for (const connection of this.#subscribers.connections) {
      const sent = this.#sentTo(connection, task);
      const { logLevel } = connection;
      const route = this.#subscribers.routeTo(connection);
      if (logLevel === undefined || route === undefined || sent < after) continue;
      for (const line of lines) {
        const message = line.seq > sent && isAtLeast(logLevel, line) ? format.log?.(line, task) : undefined;
        if (message !== undefined) connection.notify(message.method, message.params, route.via);
      }
      this.#sent.set(connection, Math.max(sent, task.logged));
    }
  }

  /** The number after which lines are wanted; that of the last line if none are. */
  #wantedAfter(task: TaskRecord): number {
    const { format } = this.#setup;
    let after = task.logged;
    if (format.progress !== undefined && task.finishedAt === null && this.#subscribers.wantProgress) {
      after = Math.min(after, this.#seen);
    }
    if (format.log === undefined) return after;
    for (const connection of this.#subscribers.connections) {
      const sent = this.#sentTo(connection, task);
      const isReached = this.#subscribers.routeTo(connection) !== undefined;
      // Who cannot be reached gets the lines later, as far as they are kept, unless another process may have sent them.
      const isOver =
        connection.logLevel === undefined ||
        (!isReached && this.#subscribers.followerOn(connection)?.isTakenUp === true);
      if (isOver) this.#sent.set(connection, Math.max(sent, task.logged));
      else if (isReached) after = Math.min(after, sent);
    }
    return after;
  }

  #sentTo(connection: Connection, { logged }: TaskRecord): number {
    return this.#sent.get(connection) ?? logged;
  }
}
