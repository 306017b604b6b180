import type { RequestId } from "@modelcontextprotocol/server";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { OnError } from "../answer.ts";
import type { Connection } from "../connection/connection.ts";
import { TaskLine } from "./task-line.ts";
import type { Creator } from "./task-party.ts";

/** The tasks that some connection of this process cares about. */
export class TaskDesk {
  readonly #runtime: Runtime;
  readonly #onError: OnError;
  readonly #lines = new Map<string, TaskLine>();

  constructor(runtime: Runtime, onError: OnError) {
    this.#runtime = runtime;
    this.#onError = onError;
  }

  /** Tells the connection that a task was created on what becomes of it, until one of them ends. */
  follow(created: TaskSnapshot, requestor: Requestor, creator: Creator): void {
    if (created.task.finishedAt !== null || creator.connection.closing.aborted) return;
    this.#line(created.task.id, requestor).addCreator(creator, created);
  }

  /** Resolves with the finished task (C-059); rejects with `unknown_task`, and with the signal's reason. */
  async finished(
    id: string,
    requestor: Requestor,
    connection: Connection,
    request: RequestId,
    signal: AbortSignal,
  ): Promise<TaskSnapshot> {
    const snapshot = await this.#runtime.get(id, requestor);
    if (snapshot.task.finishedAt !== null) return snapshot;
    return this.#line(id, requestor).wait(connection, request, signal);
  }

  #line(id: string, requestor: Requestor): TaskLine {
    let line = this.#lines.get(id);
    if (line === undefined) {
      const onEnd = (): void => void this.#lines.delete(id);
      line = new TaskLine({ runtime: this.#runtime, id, requestor, onError: this.#onError, onEnd });
      this.#lines.set(id, line);
    }
    return line;
  }
}
