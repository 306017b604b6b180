import type { PoolConfig } from "pg";
import { HoldfastError } from "../../task/fault.ts";
import type { Database, SqlValue } from "./database.ts";
import type { QueueLibrary } from "./queue-library.ts";
import { QueuePool } from "./queue-pool.ts";
import { messageOf } from "./postgres-error.ts";
import type { WorkListener } from "../store.ts";
import { jobTask, QueueWorker } from "./queue-worker.ts";

/** How old a job gets before it is deleted: its worker died, or nobody takes jobs. */
const staleMs = 60_000;
/** The most jobs that are deleted at once. */
const mostStale = 1_000;

export interface WakeQueueSetup {
  /** Undefined where it is not installed: then all are asked each time. */
  readonly library: QueueLibrary | undefined;
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
  readonly #schema: string;
  readonly #staleMs: number;
  readonly #listeners = new Set<{ readonly listener: WorkListener }>();
  #worker: QueueWorker | undefined;
  #stopping: Promise<void> = Promise.resolve();
  #cleaning: NodeJS.Timeout | undefined;
  #isAsking = false;
  #jobs = 0;

  constructor(setup: WakeQueueSetup) {
    this.#setup = setup;
    this.#schema = `"${setup.schema}"`;
    this.#staleMs = setup.staleMs ?? staleMs;
  }

  /** Makes the queue's tables, if `migrates`; rejects with `store_unusable` where they are missing and must not be made, or cannot be. */
  async open(migrates: boolean): Promise<void> {
    if (this.#setup.library === undefined) return;
    if (migrates) await this.#migrate(this.#setup.library);
    else await this.#assertThere();
    this.#cleaning = setInterval(() => void this.clean(), this.#staleMs).unref();
  }

  /**
   * To be made part of the transaction that made tasks claimable for any owner, once for all of them. Undefined where there is no
   * queue: then the others are to be asked when it is committed.
   */
  get statement(): { readonly sql: string; readonly values: readonly SqlValue[] } | undefined {
    if (this.#setup.library === undefined) return undefined;
    // A plan that was made while the queue was short would be kept, and read all of a long one.
    const sql = `SELECT count(job) FROM set_config('plan_cache_mode', 'force_custom_plan', true) AS mode,
      LATERAL ${this.#schema}.add_job(CASE WHEN mode IS NOT NULL THEN $1 END) AS job`;
    return { sql, values: [jobTask] };
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
      if (await this.#deleteStale()) {
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

  #startWorker(): QueueWorker | undefined {
    const { library, schema, connection, onError } = this.#setup;
    if (library === undefined) return undefined;
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

  async #migrate(library: QueueLibrary): Promise<void> {
    const { schema, connection, database } = this.#setup;
    const pgPool = new QueuePool(connection);
    const transaction = await database.begin();
    try {
      // The library has nobody wait while another process migrates, and fails then.
      await transaction.query("SET LOCAL lock_timeout = 0");
      await transaction.query("SET LOCAL statement_timeout = 0");
      await transaction.query("SET LOCAL idle_in_transaction_session_timeout = 0");
      await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
        `${schema} migration`,
      ]);
      await library.runMigrations({ schema, pgPool, logger: new library.Logger(() => () => undefined) });
      await transaction.commit();
    } catch (error) {
      await transaction.rollback();
      throw unusable(`The queue's schema ${schema} cannot be made: ${messageOf(error)}.`, error);
    } finally {
      await pgPool.end();
    }
  }

  async #assertThere(): Promise<void> {
    const { schema, database } = this.#setup;
    const [there] = await database.read("SELECT 1 WHERE to_regclass($1) IS NOT NULL", [
      `${this.#schema}.migrations`,
    ]);
    if (there !== undefined) return;
    throw unusable(
      `The queue's schema ${schema} is missing. Run "holdfast migrate", or set migrate to true.`,
    );
  }

  /** One process at a time: two would wait for each other's rows. Resolves with whether there were some. */
  async #deleteStale(): Promise<boolean> {
    const transaction = await this.#setup.database.begin();
    try {
      const [lock] = await transaction.query(
        "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))::int",
        [`${this.#setup.schema} cleaning`],
      );
      if (lock?.[0] !== 1) return false;
      const isOld = "< clock_timestamp() - $1 * interval '1 millisecond'";
      const jobs = `${this.#schema}.jobs`;
      // Only jobs that nobody has locked can be completed.
      await transaction.query(
        `SELECT ${this.#schema}.force_unlock_workers(ARRAY(SELECT DISTINCT locked_by FROM ${jobs} WHERE locked_at ${isOld}))`,
        [this.#staleMs],
      );
      const stale = `SELECT id FROM ${jobs} WHERE locked_at IS NULL AND run_at ${isOld} LIMIT $2`;
      const [row] = await transaction.query(
        `SELECT count(*)::int FROM ${this.#schema}.complete_jobs(ARRAY(${stale}))`,
        [this.#staleMs, mostStale],
      );
      await transaction.commit();
      return Number(row?.[0] ?? 0) > 0;
    } finally {
      await transaction.rollback();
    }
  }
}

function unusable(problem: string, cause?: unknown): HoldfastError {
  if (cause instanceof HoldfastError) return cause;
  return new HoldfastError("store_unusable", problem, { cause });
}
