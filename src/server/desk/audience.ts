import type { RequestId } from "@modelcontextprotocol/server";
import type { TaskRecord } from "../../task/record.ts";
import type { Connection } from "../connection/connection.ts";
import type { Follower, Waiter } from "./task-party.ts";

/** Everybody who is there for a task, and where each is reached. */
export class Audience {
  readonly waiters = new Set<Waiter>();
  readonly #task: Pick<TaskRecord, "requiredScopes">;
  readonly #followers = new Map<Connection, { readonly follower: Follower; readonly leave: () => void }>();

  constructor(task: Pick<TaskRecord, "requiredScopes">) {
    this.#task = task;
  }

  get followers(): Follower[] {
    return [...this.#followers.values()].map(({ follower }) => follower);
  }

  get empty(): boolean {
    return this.waiters.size === 0 && this.#followers.size === 0;
  }

  /** One for each connection: of a call that was repeated there, the newest token counts. */
  join(follower: Follower, leave: () => void): void {
    this.leave(follower.connection);
    this.#followers.set(follower.connection, { follower, leave });
  }

  leave(connection: Connection): void {
    this.#followers.get(connection)?.leave();
    this.#followers.delete(connection);
  }

  followerOn(connection: Connection): Follower | undefined {
    return this.#followers.get(connection)?.follower;
  }

  get connections(): Set<Connection> {
    return new Set([...this.#followers.keys(), ...[...this.waiters].map(({ connection }) => connection)]);
  }

  /** Where a notification reaches `connection` now, if anywhere. */
  routeTo(connection: Connection): { via: RequestId | undefined } | undefined {
    if (connection.hears(this.#task)) return { via: undefined };
    for (const waiter of this.waiters) {
      if (waiter.connection === connection && waiter.open) return { via: waiter.request };
    }
    return undefined;
  }

  close(): void {
    for (const connection of this.#followers.keys()) this.leave(connection);
  }
}
