import type { RequestId } from "@modelcontextprotocol/server";
import { diagnose } from "../../generation/2025-11-25/diagnose.ts";
import { progressNotification, statusNotification } from "../../generation/2025-11-25/notify.ts";
import { wireTask } from "../../generation/2025-11-25/wire-task.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { Connection } from "../connection/connection.ts";
import { OpenQuestions } from "./open-questions.ts";
import type { Creator, TaskLineSetup, Waiter } from "./task-party.ts";

/**
 * One task and everybody who is there for it: who created it, and who waits for its result. After each change it is
 * read once, and then told in the order of A-16: status, progress, questions, and at last the result.
 */
export class TaskLine {
  readonly #setup: TaskLineSetup;
  readonly #creators = new Set<Creator>();
  readonly #waiters = new Set<Waiter>();
  readonly #questions: OpenQuestions;
  readonly #unwatch: () => void;
  readonly #leave: (() => void)[] = [];
  #told: string | undefined;
  #progress: number | undefined;
  #changed = false;
  #working = false;
  #ended = false;

  constructor(setup: TaskLineSetup) {
    this.#setup = setup;
    this.#questions = new OpenQuestions(setup, {
      waiters: this.#waiters,
      creators: this.#creators,
    });
    this.#unwatch = setup.runtime.watch([setup.id], () => this.#look());
  }

  /** Tells `creator` from now on what becomes of the task, which it was told as `created`. */
  addCreator(creator: Creator, created: TaskSnapshot): void {
    this.#told ??= JSON.stringify(wireTask(created.task));
    this.#creators.add(creator);
    const { connection } = creator;
    const stop = connection.streams.onStandalone((open) => {
      if (open) this.#look();
      else this.#questions.lost(connection, undefined);
    });
    const gone = (): void => {
      this.#creators.delete(creator);
      this.#questions.lost(connection, undefined);
      this.#endIfAlone();
    };
    connection.closing.addEventListener("abort", gone, { once: true });
    this.#leave.push(() => {
      stop();
      connection.closing.removeEventListener("abort", gone);
    });
    this.#look();
  }

  /** Resolves with the task once it is finished; rejects with the signal's reason, and where it cannot be read. */
  async wait(connection: Connection, request: RequestId, signal: AbortSignal): Promise<TaskSnapshot> {
    const settled = Promise.withResolvers<TaskSnapshot>();
    const waiter: Waiter = { connection, request, settled, open: true };
    const onAbort = (): void => settled.reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const unlisten = connection.streams.onBroken((broken) => {
      if (broken !== request) return;
      waiter.open = false;
      this.#questions.lost(connection, request);
    });
    this.#waiters.add(waiter);
    this.#look();
    try {
      return await settled.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      unlisten();
      this.#waiters.delete(waiter);
      this.#questions.lost(connection, request);
      this.#endIfAlone();
    }
  }

  #look(): void {
    this.#changed = true;
    if (this.#working || this.#ended) return;
    this.#working = true;
    this.#tellAll().catch((error: unknown) => this.#failed(error));
  }

  /** The fault belongs to those who wait; without any, the next change is a new chance. */
  #failed(error: unknown): void {
    const deleted = error instanceof HoldfastError && error.code === "unknown_task";
    if (!deleted && this.#waiters.size === 0) this.#setup.onError(error);
    for (const { settled } of this.#waiters) settled.reject(error);
    if (deleted) this.#end();
  }

  async #tellAll(): Promise<void> {
    const { runtime, id, requestor } = this.#setup;
    try {
      while (this.#changed && !this.#ended) {
        this.#changed = false;
        this.#tell(await runtime.get(id, requestor));
      }
    } finally {
      this.#working = false; // in one step with the last look at what changed
    }
  }

  #tell(snapshot: TaskSnapshot): void {
    const finished = snapshot.task.finishedAt !== null;
    if (!finished) this.#tellProgress(snapshot);
    this.#tellStatus(snapshot);
    this.#questions.offer(finished ? [] : snapshot.inputs);
    if (!finished) return;
    for (const { settled } of this.#waiters) settled.resolve(snapshot);
    this.#end();
  }

  #tellStatus(snapshot: TaskSnapshot): void {
    const task = wireTask(snapshot.task, diagnose(snapshot));
    const text = JSON.stringify(task);
    if (text === this.#told) return;
    this.#told = text;
    const { method, params } = statusNotification(task);
    for (const connection of this.#connections()) {
      const route = this.#routeTo(connection);
      if (route !== undefined) connection.notify(method, params, route.via);
    }
  }

  /** It has to grow: a report is told once, and to the one who gave the token. */
  #tellProgress({ task }: TaskSnapshot): void {
    if (task.progress === null) return;
    const { progress } = task.progress;
    if (this.#progress !== undefined && progress <= this.#progress) return;
    this.#progress = progress;
    for (const { connection, progressToken } of this.#creators) {
      const route = this.#routeTo(connection);
      if (progressToken === undefined || route === undefined) continue;
      const { method, params } = progressNotification(progressToken, task.progress, task.wireId);
      connection.notify(method, params, route.via);
    }
  }

  #connections(): Set<Connection> {
    return new Set([...this.#creators, ...this.#waiters].map(({ connection }) => connection));
  }

  /** Where a notification reaches `connection` now, if anywhere. */
  #routeTo(connection: Connection): { via: RequestId | undefined } | undefined {
    if (connection.streams.standaloneOpen) return { via: undefined };
    for (const waiter of this.#waiters) {
      if (waiter.connection === connection && waiter.open) return { via: waiter.request };
    }
    return undefined;
  }

  #endIfAlone(): void {
    if (this.#waiters.size === 0 && this.#creators.size === 0) this.#end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unwatch();
    for (const leave of this.#leave) leave();
    this.#questions.close();
    this.#setup.onEnd();
  }
}
