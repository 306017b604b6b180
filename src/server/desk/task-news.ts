import type { RequestId } from "@modelcontextprotocol/server";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { Connection } from "../connection/connection.ts";
import type { Audience } from "./audience.ts";
import type { Follower, Waiter } from "./task-party.ts";
import type { Voice } from "./voice.ts";

/** What is told of a task without being asked for: its state when that changed, progress when it grew. */
export class TaskNews {
  readonly #audience: Audience;
  readonly #voice: Voice;
  #told: string | undefined;
  /** The last progress that each was told. */
  readonly #progress = new WeakMap<Follower | Waiter, number>();

  constructor(audience: Audience, voice: Voice) {
    this.#audience = audience;
    this.#voice = voice;
  }

  /** What is told from now on is told because it differs from `snapshot`. */
  known(snapshot: TaskSnapshot): void {
    this.#told ??= JSON.stringify(this.#voice.state?.(snapshot));
  }

  tell(snapshot: TaskSnapshot): void {
    if (snapshot.task.finishedAt === null) this.#tellProgress(snapshot);
    this.#tellState(snapshot);
  }

  #tellState(snapshot: TaskSnapshot): void {
    const telling = this.#voice.state?.(snapshot);
    const text = JSON.stringify(telling);
    if (telling === undefined || text === this.#told) return;
    this.#told = text;
    for (const connection of this.#audience.connections) {
      const route = this.#audience.routeTo(connection);
      if (route !== undefined) connection.notify(telling.method, telling.params, route.via);
    }
  }

  /** It has to grow, and is told to those who gave a token, as soon as they can be reached. */
  #tellProgress(snapshot: TaskSnapshot): void {
    for (const follower of this.#audience.followers) {
      const route = this.#audience.routeTo(follower.connection);
      if (route !== undefined) this.#tellProgressTo(follower, follower.connection, route.via, snapshot);
    }
    for (const waiter of this.#audience.waiters) {
      this.#tellProgressTo(waiter, waiter.connection, waiter.request, snapshot);
    }
  }

  #tellProgressTo(
    hearer: Follower | Waiter,
    connection: Connection,
    via: RequestId | undefined,
    { task }: TaskSnapshot,
  ): void {
    const { progressToken } = hearer;
    if (task.progress === null || progressToken === undefined) return;
    const { progress } = task.progress;
    if (progress <= (this.#progress.get(hearer) ?? -Infinity)) return;
    this.#progress.set(hearer, progress);
    const telling = this.#voice.progress?.(progressToken, task.progress, task.wireId);
    if (telling !== undefined) connection.notify(telling.method, telling.params, via);
  }
}
