import type { RequestId } from "@modelcontextprotocol/server";
import type { TaskRecord } from "../../task/record.ts";
import type { Connection } from "../connection/connection.ts";
import type { Subscriber, Waiter } from "./subscriber.ts";

/** The subscribers of a task and the requests that wait for its end, and where to reach each. */
export class Subscribers {
  readonly waiters = new Set<Waiter>();
  readonly #task: Pick<TaskRecord, "requiredScopes">;
  readonly #followers = new Map<Connection, { readonly follower: Subscriber; readonly remove: () => void }>();

  constructor(task: Pick<TaskRecord, "requiredScopes">) {
    this.#task = task;
  }

  get followers(): Subscriber[] {
    return [...this.#followers.values()].map(({ follower }) => follower);
  }

  get empty(): boolean {
    return this.waiters.size === 0 && this.#followers.size === 0;
  }

  /** One per connection: if a call is repeated there, its newest progress token counts. */
  add(follower: Subscriber, remove: () => void): void {
    this.remove(follower.connection);
    this.#followers.set(follower.connection, { follower, remove });
  }

  remove(connection: Connection): void {
    this.#followers.get(connection)?.remove();
    this.#followers.delete(connection);
  }

  followerOn(connection: Connection): Subscriber | undefined {
    return this.#followers.get(connection)?.follower;
  }

  get connections(): Set<Connection> {
    return new Set([...this.#followers.keys(), ...[...this.waiters].map(({ connection }) => connection)]);
  }

  /** Whether some of them want progress. */
  get wantProgress(): boolean {
    return [...this.followers, ...this.waiters].some(({ progressToken }) => progressToken !== undefined);
  }

  /** Where a notification can reach the connection now, if anywhere. */
  routeTo(connection: Connection): { via: RequestId | undefined } | undefined {
    if (connection.isReached(this.#task)) return { via: undefined };
    for (const waiter of this.waiters) {
      if (waiter.connection === connection && waiter.open) return { via: waiter.request };
    }
    return undefined;
  }

  close(): void {
    for (const connection of this.#followers.keys()) this.remove(connection);
  }
}
