import { isJsonObject } from "../../generation/message.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { BackgroundWork } from "../background-work.ts";
import type { InputResult } from "../question/ask-user.ts";
import { expiryTime } from "../task/poll-limits.ts";
import type { RemoteTask, TaskReference } from "../task/remote-task.ts";
import type { AnsweredRound } from "../task-protocol.ts";
import type { OpenSession } from "../transport/session-renewal.ts";
import { type HandleStore, keepAfterExpiryMs, type StoredCall } from "./handle-store.ts";

interface CallJournalOptions {
  /** Without it nothing is stored. */
  readonly store: HandleStore | undefined;
  readonly server: string;
  readonly generation: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** The current session, if there is one. */
  readonly session: () => Pick<StoredCall, "sessionId" | "sessionOrigin">;
  readonly background: BackgroundWork;
}

/** The expiry is stored again only if it moves by more than this. */
const expiryToleranceMs = 60_000;

/** The stored answers to one task's questions. */
export interface StoredAnswers {
  get(question: string): Promise<InputResult | undefined>;
  keep(question: string, answer: InputResult): Promise<void>;
}

/** Records the calls of one client in its handle store. */
export class CallJournal {
  readonly #options: CallJournalOptions;
  readonly #store: HandleStore;
  readonly #removals = new Set<Promise<void>>();
  /** By task id. */
  readonly #expiryWrites = new Map<string, Promise<unknown>>();

  constructor(options: CallJournalOptions) {
    this.#options = options;
    this.#store = options.store ?? noStore;
  }

  /** Whether there is a store, in which the next process finds unanswered calls. */
  get isPersistent(): boolean {
    return this.#options.store !== undefined;
  }

  /** The call as it is stored, with a copy of its arguments. */
  entryFor(call: Omit<StoredCall, "server" | "generation" | "taskId">): StoredCall {
    const { server, generation } = this.#options;
    const args = this.isPersistent
      ? (JSON.parse(JSON.stringify(call.args)) as StoredCall["args"])
      : call.args;
    return { ...call, args, server, generation, taskId: null };
  }

  /**
   * Await this before the call is sent. Resolves with whether it is new; false: it may have been sent before.
   * Rejects with `handles`.
   */
  async recordCall(call: StoredCall): Promise<boolean> {
    try {
      return await this.#store.keep(call);
    } catch (cause) {
      const message = "The call was not sent, because the handle store could not save it";
      throw new TaskClientError("handles", message, { cause });
    }
  }

  /** Await this before the answers are sent. They are also sent if the store fails. */
  async recordRound(call: StoredCall, round: AnsweredRound): Promise<void> {
    try {
      await this.#store.keep({ ...call, round });
    } catch (cause) {
      this.#reportError("The handle store could not save an answer", cause);
    }
  }

  /** Await this before the task is used. Rejects with `handles` and the reference. */
  async recordTask(call: StoredCall, taskId: string, task?: RemoteTask): Promise<void> {
    try {
      const expiry = task === undefined ? {} : this.#expiry(task);
      await this.#store.keep({ ...call, taskId, ...expiry, ...this.#options.session() });
    } catch (cause) {
      const message = "The task is running, but the handle store could not save its reference";
      throw new TaskClientError("handles", message, { cause, reference: this.referenceTo(taskId) });
    }
  }

  /** The same for an answer that came after the caller had given up. */
  recordLateTask(call: StoredCall, taskId: string): void {
    const { background } = this.#options;
    background.run(this.recordTask(call, taskId).catch(background.onError));
  }

  /** Stores the session for the next client if a stored task was made in it. Resolves with whether that is so. */
  async keepSession({ id, origin, params, result }: OpenSession): Promise<boolean> {
    const { server, generation } = this.#options;
    const declared = params["capabilities"];
    const capabilities = isJsonObject(declared) ? declared : {};
    const session = { server, generation, origin, id, capabilities, result };
    try {
      if (!(await this.#store.usesSession(session))) return false;
      await this.#store.keepSession(session);
    } catch (cause) {
      this.#reportError("The handle store could not save a session", cause);
    }
    return true;
  }

  /** Removes a call that ended without a task. */
  removeCall(call: StoredCall): void {
    void this.#remove(async () => this.#store.drop(call));
  }

  /** Stores when a running task expires. */
  recordExpiry(task: RemoteTask): void {
    const { taskId } = task;
    const writing = (this.#expiryWrites.get(taskId) ?? Promise.resolve())
      .then(async () => this.#writeExpiry(task))
      .catch((cause: unknown) =>
        this.#reportError("The handle store could not save a task's new expiry time", cause),
      )
      .finally(() => {
        if (this.#expiryWrites.get(taskId) === writing) this.#expiryWrites.delete(taskId);
      });
    this.#expiryWrites.set(taskId, writing);
    this.#options.background.run(writing);
  }

  /** Removes a task whose end was delivered. */
  removeTask(taskId: string): void {
    void this.#removeTask(taskId);
  }

  /**
   * For a task that the server does not know: another token may still find it, so it is removed only a day after
   * its expiry.
   */
  async removeIfExpired(taskId: string): Promise<void> {
    try {
      const stored = await this.#store.find(this.referenceTo(taskId));
      if (stored?.expiresAt === undefined || this.#options.now() < stored.expiresAt + keepAfterExpiryMs)
        return;
    } catch (cause) {
      return this.#reportError("The handle store could not read a call", cause);
    }
    await this.#removeTask(taskId);
  }

  /** Rejects with `handles`. */
  async forget(call: StoredCall): Promise<void> {
    const { taskId } = call;
    try {
      await (taskId === null ? this.#store.drop(call) : this.#store.dropTask(this.referenceTo(taskId)));
    } catch (cause) {
      throw new TaskClientError("handles", "The handle store could not remove the call", { cause });
    }
  }

  /** This server's calls, the oldest first. Rejects with `handles`. */
  async list(): Promise<readonly StoredCall[]> {
    const { server, generation, background } = this.#options;
    await Promise.all(this.#removals);
    try {
      const { calls, damaged } = await this.#store.list();
      for (const { name, error } of damaged) {
        background.onError(
          new TaskClientError("handles", `The handle store could not read ${name}`, { cause: error }),
        );
      }
      return calls.filter((call) => call.server === server && call.generation === generation);
    } catch (cause) {
      throw new TaskClientError("handles", "The handle store could not list its calls", { cause });
    }
  }

  /** The stored answers of a task. Errors of the store are reported, and do not keep the user from answering. */
  answersOf(taskId: string): StoredAnswers {
    const reference = this.referenceTo(taskId);
    return {
      get: async (question) => {
        try {
          return await this.#store.answer(reference, question);
        } catch (cause) {
          this.#reportError("The handle store could not read an answer", cause, reference);
          return undefined;
        }
      },
      keep: async (question, answer) => {
        try {
          await this.#store.keepAnswer(reference, question, answer);
        } catch (cause) {
          this.#reportError("The handle store could not save an answer", cause, reference);
        }
      },
    };
  }

  referenceTo(taskId: string): TaskReference {
    const { server, generation } = this.#options;
    return { server, generation, taskId };
  }

  async #writeExpiry(task: RemoteTask): Promise<void> {
    const stored = await this.#store.find(this.referenceTo(task.taskId));
    if (stored === undefined) return;
    const { expiresAt } = this.#expiry(task);
    const moved = Math.abs((expiresAt ?? Infinity) - (stored.expiresAt ?? Infinity));
    if (moved > expiryToleranceMs) await this.#store.keep({ ...stored, expiresAt });
  }

  #expiry(task: RemoteTask): Pick<StoredCall, "expiresAt"> {
    const expiresAt = expiryTime(task, this.#options.now());
    return { expiresAt: Number.isFinite(expiresAt) ? expiresAt : undefined };
  }

  async #removeTask(taskId: string): Promise<void> {
    await this.#remove(async () => {
      await this.#expiryWrites.get(taskId);
      await this.#store.dropTask(this.referenceTo(taskId));
    });
  }

  async #remove(remove: () => Promise<void>): Promise<void> {
    const removal = remove()
      .catch((cause: unknown) =>
        this.#reportError("The handle store could not remove a finished call", cause),
      )
      .finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
    this.#options.background.run(removal);
    await removal;
  }

  #reportError(message: string, cause: unknown, reference?: TaskReference): void {
    this.#options.background.onError(new TaskClientError("handles", message, { cause, reference }));
  }
}

const noStore: HandleStore = {
  keep: async () => true,
  drop: async () => undefined,
  dropTask: async () => undefined,
  list: async () => ({ calls: [], damaged: [] }),
  find: async () => undefined,
  keepAnswer: async () => undefined,
  answer: async () => undefined,
  usesSession: async () => false,
  keepSession: async () => undefined,
  findSession: async () => undefined,
  dropSession: async () => false,
};
