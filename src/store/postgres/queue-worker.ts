import { EventEmitter } from "node:events";
import type { WorkerPool } from "graphile-worker";
import type { PoolConfig } from "pg";
import type { QueueLibrary } from "./queue-library.ts";
import { QueuePool } from "./queue-pool.ts";
import { jobTask } from "./queue-schema.ts";

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
