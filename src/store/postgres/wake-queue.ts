import { EventEmitter } from "node:events";
import type { PoolConfig } from "pg";
import type { WorkerPool } from "graphile-worker";
import type { Database, SqlValue } from "./database.ts";
import { migrateQueue } from "./migrate-queue.ts";
import type { QueueLibrary } from "./queue-library.ts";
import type { WorkListener } from "../store.ts";
import { QueuePool } from "./queue-pool.ts";
import { HoldfastError } from "../../task/fault.ts";

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

/** How many jobs are fetched at once: each takes no time. */
const fetched = 50;

/** How often jobs are fetched without a notification. */
const pollMs = 1_000;

/** The first and longest pause before a failed worker is replaced. */
const firstRetryMs = 200;

const longestRetryMs = 10_000;

/** How long a stop waits for a database that does not answer. */
const stopMs = 2_000;

export interface QueueWorkerSetup {
  readonly library: QueueLibrary;
  readonly schema: string;
  /** To the database itself, without a transaction pooler. */
  readonly connection: PoolConfig;
  readonly onJob: () => void;
  readonly onError: (error: unknown) => void;
}

/** Takes jobs off the queue until it is stopped. While there is no database, it keeps trying. */
export class QueueWorker {
  readonly #setup: QueueWorkerSetup;
  #pool: QueuePool;
  #workers: WorkerPool;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(setup: QueueWorkerSetup) {
    this.#setup = setup;
    this.#pool = new QueuePool(setup.connection);
    this.#workers = this.#start();
  }

  /** Stops taking jobs. Resolves when its jobs are returned, or the database had enough time for that. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, stopMs);
    await Promise.race([isLate, this.#end()]);
    clearTimeout(timer);
  }

  #start(): WorkerPool {
    const { library, schema, onJob } = this.#setup;
    const events = new EventEmitter();
    let isWorking = false;
    let problem: Error | undefined;
    let isMigration = false;
    // The channel belongs to the database, so it also tells of queues in other schemas. The library then ends each worker, and
    // sets an exit code for the process, which is not for the queue to decide.
    events.on("pool:listen:notification", ({ message }: { message: { channel: string } }) => {
      if (message.channel !== "worker:migrate") return;
      const code = process.exitCode;
      queueMicrotask(() => (process.exitCode = code));
      isMigration = true;
    });
    events.once("localQueue:getJobs:complete", () => {
      isWorking = true;
      this.#failures = 0;
    });
    // The library caches the answer to its first question to the database, even an error, and never asks again.
    const log = (level: string, message: string): void => {
      if (level !== "error" || isWorking || problem !== undefined) return;
      problem = new Error(message);
      void Promise.resolve(workers.gracefulShutdown()).catch(() => undefined); // `ended` reports it
    };
    const options = {
      schema,
      events,
      logger: new library.Logger(() => log),
      noHandleSignals: true,
      concurrency: 1,
      pollInterval: pollMs,
      preset: {
        worker: { localQueue: { size: fetched }, completeJobBatchDelay: 1, failJobBatchDelay: 1 },
      },
    };
    const workers = library.runTaskList(options, { [jobTask]: onJob }, this.#pool);
    const ended = (error: unknown): void => this.#restart(problem ?? error);
    const over = new Error("The queue's worker ended.");
    workers.promise.then(() => ended(isMigration ? undefined : over), ended);
    return workers;
  }

  /** The error is undefined if nothing failed. */
  #restart(error: unknown): void {
    if (this.#stopped) return;
    if (this.#failures === 0 && error !== undefined) this.#setup.onError(error);
    const pause = Math.min(firstRetryMs * 2 ** this.#failures++, longestRetryMs);
    this.#timer = setTimeout(() => {
      void this.#pool.end().catch(() => undefined);
      this.#pool = new QueuePool(this.#setup.connection);
      this.#workers = this.#start();
    }, pause).unref();
  }

  async #end(): Promise<void> {
    try {
      await this.#workers.gracefulShutdown();
    } catch {
      // Jobs that it could not return are found by the next cleanup.
    }
    await this.#pool.end().catch(() => undefined);
  }
}

/** The task of the queue's jobs. Jobs are empty: a worker that gets one looks for tasks to claim. */
export const jobTask = "claim";

/** The most jobs that are deleted in one transaction. */
const mostDeleted = 1_000;

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** The tables of the queue, in a separate schema. */
export class QueueSchema {
  /** Adds a job within any transaction. */
  readonly addJob: Statement;
  readonly #name: string;
  readonly #quoted: string;
  readonly #database: Database;

  constructor(name: string, database: Database) {
    this.#name = name;
    this.#quoted = `"${name}"`;
    this.#database = database;
    // Postgres would keep a plan made while the queue was short, and read all of a long queue with it.
    const sql = `SELECT count(job) FROM set_config('plan_cache_mode', 'force_custom_plan', true) AS mode,
      LATERAL ${this.#quoted}.add_job(CASE WHEN mode IS NOT NULL THEN $1 END) AS job`;
    this.addJob = { sql, values: [jobTask] };
  }

  async assertThere(): Promise<void> {
    const table = `${this.#quoted}.migrations`;
    const [there] = await this.#database.read("SELECT 1 WHERE to_regclass($1) IS NOT NULL", [table]);
    const problem = `The queue's schema ${this.#name} is missing. Run "holdfast migrate", or set migrate to true.`;
    if (there === undefined) throw new HoldfastError("store_unusable", problem);
  }

  /** Deletes jobs that have been locked or ready for this long; resolves with their number, 0 if another process is doing it. */
  async deleteJobs(afterMs: number): Promise<number> {
    for (let deleted = 0; ;) {
      const some = await this.#deleteSome(afterMs);
      deleted += some;
      if (some < mostDeleted) return deleted;
    }
  }

  /** One process at a time: two would wait for each other's rows. */
  async #deleteSome(afterMs: number): Promise<number> {
    const transaction = await this.#database.begin();
    try {
      const lock = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))::int";
      const [locked] = await transaction.query(lock, [`${this.#name} cleaning`]);
      if (locked?.[0] !== 1) return 0;
      const isOld = "< clock_timestamp() - $1 * interval '1 millisecond'";
      const jobs = `${this.#quoted}.jobs`;
      const workers = `SELECT DISTINCT locked_by FROM ${jobs} WHERE locked_at ${isOld}`;
      const stale = `SELECT id FROM ${jobs} WHERE locked_at IS NULL AND run_at ${isOld} LIMIT ${mostDeleted}`;
      // Only unlocked jobs can be completed.
      await transaction.query(`SELECT ${this.#quoted}.force_unlock_workers(ARRAY(${workers}))`, [afterMs]);
      const complete = `SELECT count(*)::int FROM ${this.#quoted}.complete_jobs(ARRAY(${stale}))`;
      const [row] = await transaction.query(complete, [afterMs]);
      await transaction.commit();
      return Number(row?.[0] ?? 0);
    } finally {
      await transaction.rollback();
    }
  }
}
