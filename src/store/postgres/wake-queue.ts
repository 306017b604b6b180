import type { PoolConfig } from "pg";
import type { Database } from "./database.ts";
import { migrateQueue } from "./migrate-queue.ts";
import type { QueueLibrary } from "./queue-library.ts";
import { QueueSchema, type Statement } from "./queue-schema.ts";
import type { WorkListener } from "../store.ts";
import { QueueWorker } from "./queue-worker.ts";

/** How old a job gets before it is deleted: its worker died, or nobody takes jobs. */
const staleMs = 60_000;

export interface WakeQueueSetup {
  readonly library: QueueLibrary;
  /** Of the queue's tables, which is nobody else's. */
  readonly schema: string;
  readonly database: Database;
  /** To the database itself: no transaction pooler. */
  readonly connection: PoolConfig;
  /** Asks all processes, this one left out. */
  readonly askOthers: () => void;
  readonly onError: (error: unknown) => void;
  /** Replaced in tests. */
  readonly staleMs?: number;
}

/**
 * Wakes one of all processes when there may be something to claim. A job of the queue names no task, is over as soon as somebody has taken it, and says nothing of
 * what becomes of a task: that one was lost costs time, as all look for tasks now and then anyway.
 */
export class WakeQueue {
  readonly #setup: WakeQueueSetup;
  readonly #schema: QueueSchema;
  readonly #staleMs: number;
  readonly #listeners = new Set<{ readonly listener: WorkListener }>();
  #worker: QueueWorker | undefined;
  #stopping: Promise<void> = Promise.resolve();
  #cleaning: NodeJS.Timeout | undefined;
  #isAsking = false;
  #jobs = 0;

  constructor(setup: WakeQueueSetup) {
    this.#setup = setup;
    this.#schema = new QueueSchema(setup.schema, setup.database);
    this.#staleMs = setup.staleMs ?? staleMs;
  }

  /** Makes the queue's tables, if `migrates`; rejects with `store_unusable` where they are missing and must not be made, or cannot be. */
  async open(migrates: boolean): Promise<void> {
    const { library, schema, connection } = this.#setup;
    if (migrates) await migrateQueue(library, schema, connection);
    else await this.#schema.assertThere();
    this.#cleaning = setInterval(() => void this.clean(), this.#staleMs).unref();
  }

  /** To be made part of the transaction that made tasks claimable for any owner, once for all of them. */
  get statement(): Statement {
    return this.#schema.addJob;
  }

  /** Jobs are taken while somebody listens. Returns a function that ends the subscription. */
  onWork(listener: WorkListener): () => void {
    const subscription = { listener };
    this.#listeners.add(subscription);
    this.#worker ??= this.#startWorker();
    return () => {
      this.#listeners.delete(subscription);
      if (this.#listeners.size === 0) this.#stopWorker();
    };
  }

  /** All were asked: whether others find something, too, is not told to anybody. */
  ask(): void {
    void this.#ask(1).catch(this.#setup.onError);
  }

  /** Deletes jobs that nobody has taken in time, or whose worker has died, and asks all in their place. */
  async clean(): Promise<void> {
    try {
      if ((await this.#schema.deleteJobs(this.#staleMs)) > 0) {
        this.ask();
        this.#setup.askOthers();
      }
    } catch {
      // Whoever comes next does it.
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#cleaning);
    this.#listeners.clear();
    this.#stopWorker();
    await this.#stopping;
  }

  #startWorker(): QueueWorker {
    const { library, schema, connection, onError } = this.#setup;
    return new QueueWorker({ library, schema, connection, onError, onJob: () => void this.#gotJob() });
  }

  #stopWorker(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker !== undefined)
      this.#stopping = Promise.all([this.#stopping, worker.stop()]).then(() => undefined);
  }

  /** A job that comes while the listeners look may be about what they have passed: then they look once more for all such. */
  async #gotJob(): Promise<void> {
    this.#jobs++;
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      while (this.#jobs > 0) {
        const jobs = this.#jobs;
        this.#jobs = 0;
        if (!(await this.#ask(jobs))) this.#setup.askOthers();
      }
    } catch (error) {
      this.#setup.askOthers();
      this.#setup.onError(error);
    } finally {
      this.#isAsking = false;
    }
  }

  async #ask(tasks: number): Promise<boolean> {
    const answers = await Promise.all([...this.#listeners].map(({ listener }) => listener(tasks)));
    return answers.includes(true);
  }
}
