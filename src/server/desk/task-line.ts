import type { RequestId } from "@modelcontextprotocol/server";
import { untilStoreAnswers } from "../../runtime/until-store-answers.ts";
import { isUnknownTask } from "../../task/fault.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { Connection } from "../connection/connection.ts";
import { Audience } from "./audience.ts";
import { OpenQuestions } from "./open-questions.ts";
import { isStopping } from "../stopping.ts";
import { TaskNews } from "./task-news.ts";
import type { Follower, TaskLineSetup, Waiter } from "./task-party.ts";

/**
 * How long the answer that names a task may take to its client before the task asks it something. Another stream can
 * be faster, and clients refuse questions of tasks that they do not know.
 */
const headStartMs = 200;

/** A request that is to be answered with the end of the task. */
export interface Wait {
  readonly connection: Connection;
  readonly request: RequestId;
  readonly signal: AbortSignal;
  /** Progress is told on the stream of the request, until it is answered; left out: it is not. */
  readonly progressToken?: string | number | undefined;
}

/**
 * One task and everybody who is there for it. After each change it is read once, and then told in the order of A-16:
 * progress, status, questions, and at last the result.
 */
export class TaskLine {
  readonly #setup: TaskLineSetup;
  readonly #audience: Audience;
  readonly #news: TaskNews;
  readonly #questions: OpenQuestions;
  readonly #unwatch: () => void;
  readonly #over = new AbortController();
  #changed = false;
  #working = false;

  constructor(setup: TaskLineSetup) {
    this.#setup = setup;
    this.#audience = new Audience(setup);
    this.#news = new TaskNews(this.#audience, setup.voice);
    this.#questions = new OpenQuestions(setup, this.#audience);
    this.#unwatch = setup.runtime.watch([setup.id], () => this.#look());
  }

  /** Tells a connection from now on what becomes of the task, which it was told as `known`. */
  follow(party: Omit<Follower, "informed">, known: TaskSnapshot): void {
    this.#news.known(known);
    const { connection } = party;
    const follower: Follower = { ...party, informed: false };
    const callOff = this.#setup.runtime.clock.after(headStartMs, () => this.#inform(follower));
    const stop = connection.streams.onStandalone((open) => {
      if (open) this.#look();
      else this.#questions.lost(connection, undefined);
    });
    const gone = (): void => {
      this.#audience.leave(connection);
      this.#questions.lost(connection, undefined);
      this.#endIfAlone();
    };
    connection.closing.addEventListener("abort", gone, { once: true });
    this.#audience.join(follower, () => {
      callOff();
      stop();
      connection.closing.removeEventListener("abort", gone);
    });
    this.#look();
  }

  /** A client asked for the task: it knows it, and where nobody else can be asked, it can be. */
  polled(connection: Connection, snapshot: TaskSnapshot): void {
    const reachable = this.#audience.followers.some((each) => each.connection.hears(this.#setup));
    if (!reachable && this.#audience.followerOn(connection) === undefined) {
      this.follow({ connection, progressToken: undefined }, snapshot);
    }
    const follower = this.#audience.followerOn(connection);
    if (follower !== undefined) this.#inform(follower);
  }

  /**
   * Resolves with the task, which is `known` now, once it is finished; rejects with the signal's reason, and where it
   * cannot be read.
   */
  async wait(
    { connection, request, signal, progressToken }: Wait,
    known: TaskSnapshot,
  ): Promise<TaskSnapshot> {
    this.#news.known(known);
    const settled = Promise.withResolvers<TaskSnapshot>();
    const open = !connection.isBroken(request);
    const waiter: Waiter = { connection, request, settled, progressToken, open };
    const onAbort = (): void => settled.reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const unlisten = connection.streams.onBroken((broken) => {
      if (broken !== request) return;
      waiter.open = false;
      this.#questions.lost(connection, request);
    });
    this.#audience.waiters.add(waiter);
    this.#look();
    try {
      return await settled.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      unlisten();
      this.#audience.waiters.delete(waiter);
      this.#questions.lost(connection, request);
      this.#endIfAlone();
    }
  }

  #inform(follower: Follower): void {
    if (follower.informed) return;
    follower.informed = true;
    this.#look();
  }

  #look(): void {
    this.#changed = true;
    if (this.#working || this.#over.signal.aborted) return;
    this.#working = true;
    this.#tellAll().catch((error: unknown) => this.#failed(error));
  }

  /** The fault belongs to those who wait; without any, the next change is a new chance. */
  #failed(error: unknown): void {
    // A stop is no end of the task: who waits hears nothing until its connection is closed.
    if (this.#over.signal.aborted || isStopping(error)) return;
    const deleted = isUnknownTask(error);
    if (!deleted && this.#audience.waiters.size === 0) this.#setup.onError(error);
    for (const { settled } of this.#audience.waiters) settled.reject(error);
    if (deleted) this.#end();
  }

  async #tellAll(): Promise<void> {
    const { runtime, id, requestor, onError } = this.#setup;
    const patience = { clock: runtime.clock, onError };
    try {
      while (this.#changed && !this.#over.signal.aborted) {
        this.#changed = false;
        this.#tell(await untilStoreAnswers(() => runtime.get(id, requestor), patience, this.#over.signal));
      }
    } finally {
      this.#working = false; // in one step with the last look at what changed
    }
  }

  #tell(snapshot: TaskSnapshot): void {
    const finished = snapshot.task.finishedAt !== null;
    this.#news.tell(snapshot);
    this.#questions.offer(finished ? [] : snapshot.inputs);
    if (!finished) return;
    for (const { settled } of this.#audience.waiters) settled.resolve(snapshot);
    this.#end();
  }

  #endIfAlone(): void {
    if (this.#audience.empty) this.#end();
  }

  #end(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#unwatch();
    this.#audience.close();
    this.#questions.close();
    this.#setup.onEnd();
  }
}
