import type { PoolConfig } from "pg";
import type { Database } from "./database.ts";
import { migrateQueue } from "./migrate-queue.ts";
import type { QueueLibrary } from "./queue-library.ts";
import { QueueSchema, type Statement } from "./queue-schema.ts";
import type { WorkListener } from "../store.ts";
import { QueueWorker } from "./queue-worker.ts";

/** The age at which a job is deleted (ms): its worker died, or nobody takes jobs. */
const staleMs = 60_000;

export interface WakeQueueSetup {
  readonly library: QueueLibrary;
  /** The queue's tables, in a separate schema. */
  readonly schema: string;
  readonly database: Database;
  /** To the database itself, without a transaction pooler. */
  readonly connection: PoolConfig;
  /** Asks all other processes. */
  readonly askOthers: () => void;
  readonly onError: (error: unknown) => void;
  /** Replaced in tests. */
  readonly staleMs?: number;
}

/**
 * Wakes one process when there may be tasks to claim. A job names no task, ends as soon as a process takes it, and says nothing about a
 * task's fate: a lost job only costs time, since all processes look for tasks periodically.
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

  /** Creates the queue's tables, if `migrates`; rejects with `store_unusable` if they are missing and must not be created, or cannot be. */
  async open(migrates: boolean): Promise<void> {
    const { library, schema, connection } = this.#setup;
    if (migrates) await migrateQueue(library, schema, connection);
    else await this.#schema.assertThere();
    this.#cleaning = setInterval(() => void this.clean(), this.#staleMs).unref();
  }

  /** Add it once to each transaction that makes tasks claimable for any owner. */
  get statement(): Statement {
    return this.#schema.addJob;
  }

  /** Takes jobs while there are listeners. Returns a function that ends the subscription. */
  onWork(listener: WorkListener): () => void {
    const subscription = { listener };
    this.#listeners.add(subscription);
    this.#worker ??= this.#startWorker();
    return () => {
      this.#listeners.delete(subscription);
      if (this.#listeners.size === 0) this.#stopWorker();
    };
  }

  /** All processes were asked, so the answer goes to nobody. */
  ask(): void {
    void this.#ask(1).catch(this.#setup.onError);
  }

  /** Deletes jobs that were not taken in time, or whose worker died, and asks all processes instead. */
  async clean(): Promise<void> {
    try {
      if ((await this.#schema.deleteJobs(this.#staleMs)) > 0) {
        this.ask();
        this.#setup.askOthers();
      }
    } catch {
      // The next cleanup does it.
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

  /** A job that arrives during a look may be about tasks that the look has already passed. One more look then covers all such jobs. */
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
