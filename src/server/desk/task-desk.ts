import type { RequestId } from "@modelcontextprotocol/server";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { OnError } from "../answer.ts";
import type { Connection } from "../connection/connection.ts";
import { isStopping, untilCut } from "../stopping.ts";
import { TaskLine, type Wait } from "./task-line.ts";
import type { Follower } from "./task-party.ts";
import type { Voice } from "./voice.ts";

/** The tasks of one generation that some connection of this process cares about. */
export class TaskDesk {
  readonly #runtime: Runtime;
  readonly #onError: OnError;
  readonly #voice: Voice;
  readonly #lines = new Map<string, TaskLine>();
  readonly #waits = new Set<{ readonly connection: Connection; readonly request: RequestId }>();

  constructor(runtime: Runtime, onError: OnError, voice: Voice) {
    this.#runtime = runtime;
    this.#voice = voice;
    this.#onError = onError;
  }

  /** How many requests wait for the end of a task, with a client at the other end of their streams. */
  get waiting(): number {
    return [...this.#waits].filter(({ connection, request }) => !connection.isBroken(request)).length;
  }

  /** Tells the connection that a task was created on what becomes of it, until one of them ends. */
  follow(created: TaskSnapshot, requestor: Requestor, party: Omit<Follower, "informed">): void {
    if (created.task.finishedAt !== null || party.connection.closing.aborted) return;
    this.#line(created.task, requestor).follow(party, created);
  }

  /** A client asked for the task; it may be the only one that a question reaches. */
  polled(snapshot: TaskSnapshot, requestor: Requestor, connection: Connection): void {
    // Nothing reaches a connection that is there for one request.
    if (snapshot.inputs.length === 0 || !connection.streams.initialized) return;
    if (!connection.closing.aborted) this.#line(snapshot.task, requestor).polled(connection, snapshot);
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
      return await this.#line(snapshot.task, requestor).wait(
        { connection, request, signal, progressToken },
        snapshot,
      );
    } catch (error) {
      // An error would read as the outcome of the task, which goes on in the next process.
      if (isStopping(error)) return await untilCut(signal);
      throw error;
    } finally {
      this.#waits.delete(wait);
    }
  }

  #line({ id, wireId, requiredScopes }: TaskRecord, requestor: Requestor): TaskLine {
    let line = this.#lines.get(id);
    if (line === undefined) {
      const onEnd = (): void => void this.#lines.delete(id);
      const about = { id, wireId, requiredScopes, requestor, voice: this.#voice };
      line = new TaskLine({ runtime: this.#runtime, ...about, onError: this.#onError, onEnd });
      this.#lines.set(id, line);
    }
    return line;
  }
}
