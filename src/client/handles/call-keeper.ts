import { TaskClientError } from "../task-client-error.ts";
import type { InputResult } from "../question/input-request.ts";
import { endOfLife } from "../task/pacing.ts";
import type { RemoteTask } from "../task/remote-task.ts";
import type { AnsweredRound } from "../task-protocol.ts";
import type { TaskReference } from "../task/task-reference.ts";
import type { HandleStore, KeptCall } from "./handle-store.ts";

interface CallKeeperOptions {
  /** Left out, nothing is kept. */
  readonly store: HandleStore | undefined;
  readonly server: string;
  readonly generation: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** The id of the session, where the server has sessions. */
  readonly sessionId: () => string | undefined;
  /** Takes what runs on by itself, so that closing the client can wait for it. */
  readonly run: (work: Promise<void>) => void;
  /** Hears of faults of the store that stop nobody. */
  readonly onError: (error: TaskClientError) => void;
}

/** A task that its server does not know is kept this long after its end of life: another token may still find it. */
const keptAfterEndMs = 86_400_000;
/** A known end of life is written down again only if it moves by more than this. */
const sameEndMs = 60_000;

/** What was answered to the questions of one task. */
export interface KeptAnswers {
  get(question: string): Promise<InputResult | undefined>;
  keep(question: string, answer: InputResult): Promise<void>;
}

/** Keeps the calls of one client in its handle store, under the name of its server. */
export class CallKeeper {
  readonly #options: CallKeeperOptions;
  readonly #store: HandleStore;
  readonly #dropping = new Set<Promise<void>>();
  /** By task id. */
  readonly #noting = new Map<string, Promise<unknown>>();
  /** The sessions of tasks that became known here, by task id. */
  readonly #sessions = new Map<string, string>();

  constructor(options: CallKeeperOptions) {
    this.#options = options;
    this.#store = options.store ?? nothingKept;
  }

  /** Whether a call can be found again that was left before its answer. */
  get keeps(): boolean {
    return this.#options.store !== undefined;
  }

  /** The call as it is kept: its arguments as they are now, whatever the caller does to them later. */
  name(call: Omit<KeptCall, "server" | "generation" | "taskId">): KeptCall {
    const { server, generation } = this.#options;
    const args = this.keeps ? (JSON.parse(JSON.stringify(call.args)) as KeptCall["args"]) : call.args;
    return { ...call, args, server, generation, taskId: null };
  }

  /** To be awaited before the call is sent. Whether it cannot have been sent before; rejects with `handles`. */
  async begin(call: KeptCall): Promise<boolean> {
    try {
      return await this.#store.keep(call);
    } catch (cause) {
      const message = "The call was not sent: the handle store could not keep it";
      throw new TaskClientError("handles", message, { cause });
    }
  }

  /** To be awaited before the answers are sent; a fault of the store does not keep them back. */
  async answered(call: KeptCall, round: AnsweredRound): Promise<void> {
    try {
      await this.#store.keep({ ...call, round });
    } catch (cause) {
      this.#fault("The handle store could not keep an answer", cause);
    }
  }

  /**
   * To be awaited before anything else is made of the task; `task` is what is known of it. Rejects with `handles` and
   * the reference.
   */
  async became(call: KeptCall, taskId: string, task?: RemoteTask): Promise<void> {
    const sessionId = this.#options.sessionId();
    if (this.keeps && sessionId !== undefined) this.#sessions.set(taskId, sessionId);
    try {
      const expiry = task === undefined ? {} : this.#expiry(task);
      await this.#store.keep({ ...call, taskId, ...expiry, ...(sessionId !== undefined && { sessionId }) });
    } catch (cause) {
      const message = "The task runs, and the handle store could not keep its reference";
      throw new TaskClientError("handles", message, { cause, reference: this.referenceTo(taskId) });
    }
  }

  /** The same for a task that was learnt of when nobody waited any more. */
  lateTask(call: KeptCall, taskId: string): void {
    const { run, onError } = this.#options;
    run(this.became(call, taskId).catch(onError));
  }

  /** Whether a task is kept that was made in this session: its server may show it in no other. */
  async needsSession(): Promise<boolean> {
    const now = this.#options.sessionId();
    try {
      for (const [taskId, sessionId] of this.#sessions) {
        if (sessionId !== now) continue;
        if ((await this.#store.find(this.referenceTo(taskId))) !== undefined) return true;
      }
      return false;
    } catch (cause) {
      this.#fault("The handle store cannot read a call", cause);
      return true;
    }
  }

  /** The call has ended without a task. */
  drop(call: KeptCall): void {
    void this.#drop(async () => this.#store.drop(call));
  }

  /** Notes when the server may drop a task that goes on. */
  lives(task: RemoteTask): void {
    const { taskId } = task;
    const noting = (this.#noting.get(taskId) ?? Promise.resolve())
      .then(async () => this.#noteExpiry(task))
      .catch((cause: unknown) => this.#fault("The handle store could not keep when a task ends", cause))
      .finally(() => {
        if (this.#noting.get(taskId) === noting) this.#noting.delete(taskId);
      });
    this.#noting.set(taskId, noting);
    this.#options.run(noting);
  }

  /** Somebody was told how the task ended. */
  dropTask(taskId: string): void {
    void this.#dropTask(taskId);
  }

  /**
   * The server does not know the task, or does not show it to this caller: another token may still find it. It is dropped
   * once its known end of life is a day ago.
   */
  async unknown(taskId: string): Promise<void> {
    try {
      const kept = await this.#store.find(this.referenceTo(taskId));
      if (kept?.expiresAt === undefined || this.#options.now() < kept.expiresAt + keptAfterEndMs) return;
    } catch (cause) {
      return this.#fault("The handle store cannot read a call", cause);
    }
    await this.#dropTask(taskId);
  }

  /** Rejects with `handles`. */
  async forget(call: KeptCall): Promise<void> {
    const { taskId } = call;
    try {
      await (taskId === null ? this.#store.drop(call) : this.#store.dropTask(this.referenceTo(taskId)));
    } catch (cause) {
      throw new TaskClientError("handles", "The handle store could not drop the call", { cause });
    }
  }

  /** This server's calls, the oldest first. Rejects with `handles`. */
  async list(): Promise<readonly KeptCall[]> {
    const { server, generation, onError } = this.#options;
    await Promise.all(this.#dropping);
    try {
      const { calls, damaged } = await this.#store.list();
      for (const { name, error } of damaged) {
        onError(new TaskClientError("handles", `The handle store cannot read ${name}`, { cause: error }));
      }
      return calls.filter((call) => call.server === server && call.generation === generation);
    } catch (cause) {
      throw new TaskClientError("handles", "The handle store could not list its calls", { cause });
    }
  }

  /** What was answered is worth more than its note: a fault of the store is told, and keeps nobody from answering. */
  answersOf(taskId: string): KeptAnswers {
    const reference = this.referenceTo(taskId);
    return {
      get: async (question) => {
        try {
          return await this.#store.answer(reference, question);
        } catch (cause) {
          this.#fault("The handle store cannot read an answer", cause, reference);
          return undefined;
        }
      },
      keep: async (question, answer) => {
        try {
          await this.#store.keepAnswer(reference, question, answer);
        } catch (cause) {
          this.#fault("The handle store could not keep an answer", cause, reference);
        }
      },
    };
  }

  referenceTo(taskId: string): TaskReference {
    const { server, generation } = this.#options;
    return { server, generation, taskId };
  }

  async #noteExpiry(task: RemoteTask): Promise<void> {
    const kept = await this.#store.find(this.referenceTo(task.taskId));
    if (kept === undefined) return;
    const { expiresAt } = this.#expiry(task);
    const moved = Math.abs((expiresAt ?? Infinity) - (kept.expiresAt ?? Infinity));
    if (moved > sameEndMs) await this.#store.keep({ ...kept, expiresAt });
  }

  #expiry(task: RemoteTask): Pick<KeptCall, "expiresAt"> {
    const expiresAt = endOfLife(task, this.#options.now());
    return { expiresAt: Number.isFinite(expiresAt) ? expiresAt : undefined };
  }

  async #dropTask(taskId: string): Promise<void> {
    await this.#drop(async () => {
      await this.#noting.get(taskId);
      const reference = this.referenceTo(taskId);
      await this.#store.dropTask(reference);
      // A store may put it off.
      if (this.#sessions.has(taskId) && (await this.#store.find(reference)) === undefined)
        this.#sessions.delete(taskId);
    });
  }

  async #drop(drop: () => Promise<void>): Promise<void> {
    const dropping = drop()
      .catch((cause: unknown) => this.#fault("The handle store could not drop a call that is over", cause))
      .finally(() => this.#dropping.delete(dropping));
    this.#dropping.add(dropping);
    this.#options.run(dropping);
    await dropping;
  }

  #fault(message: string, cause: unknown, reference?: TaskReference): void {
    this.#options.onError(new TaskClientError("handles", message, { cause, reference }));
  }
}

const nothingKept: HandleStore = {
  keep: async () => true,
  drop: async () => undefined,
  dropTask: async () => undefined,
  list: async () => ({ calls: [], damaged: [] }),
  find: async () => undefined,
  keepAnswer: async () => undefined,
  answer: async () => undefined,
};
