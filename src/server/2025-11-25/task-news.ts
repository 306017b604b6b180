import { diagnose } from "../../generation/2025-11-25/diagnose.ts";
import { progressNotification, statusNotification } from "../../generation/2025-11-25/notify.ts";
import { wireTask, type WireTask } from "../../generation/2025-11-25/wire-task.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { Audience } from "./audience.ts";
import type { Follower, TaskLineSetup } from "./task-party.ts";

/** What is told of a task without being asked for: its status when that changed, progress when it grew. */
export class TaskNews {
  readonly #audience: Audience;
  readonly #silent: boolean;
  #told: string | undefined;
  /** The last progress that each was told. */
  readonly #progress = new WeakMap<Follower, number>();

  constructor(audience: Audience, { plain }: Pick<TaskLineSetup, "plain">) {
    this.#audience = audience;
    this.#silent = plain;
  }

  /** What is told from now on is told because it differs from `snapshot`. */
  known(snapshot: TaskSnapshot): void {
    this.#told ??= JSON.stringify(shown(snapshot));
  }

  tell(snapshot: TaskSnapshot): void {
    if (this.#silent) return;
    if (snapshot.task.finishedAt === null) this.#tellProgress(snapshot);
    this.#tellStatus(snapshot);
  }

  #tellStatus(snapshot: TaskSnapshot): void {
    const task = shown(snapshot);
    const text = JSON.stringify(task);
    if (text === this.#told) return;
    this.#told = text;
    const { method, params } = statusNotification(task);
    for (const connection of this.#audience.connections) {
      const route = this.#audience.routeTo(connection);
      if (route !== undefined) connection.notify(method, params, route.via);
    }
  }

  /** It has to grow, and is told to those who gave a token, as soon as they can be reached. */
  #tellProgress({ task }: TaskSnapshot): void {
    if (task.progress === null) return;
    const { progress } = task.progress;
    for (const follower of this.#audience.followers) {
      const { connection, progressToken } = follower;
      const route = this.#audience.routeTo(connection);
      const grown = progress > (this.#progress.get(follower) ?? -Infinity);
      if (progressToken === undefined || route === undefined || !grown) continue;
      this.#progress.set(follower, progress);
      const { method, params } = progressNotification(progressToken, task.progress, task.wireId);
      connection.notify(method, params, route.via);
    }
  }
}

function shown(snapshot: TaskSnapshot): WireTask {
  return wireTask(snapshot.task, diagnose(snapshot));
}
