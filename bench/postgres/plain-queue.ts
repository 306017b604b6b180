import { randomUUID } from "node:crypto";
import { Logger, makeWorkerUtils, run, type Runner, type WorkerUtils } from "graphile-worker";
import { inFlight } from "./in-flight.ts";

const logger = new Logger(() => () => undefined);

/** graphile-worker as in its first example: one statement for each job, and a worker that takes and completes them one by one. */
export class PlainQueue implements AsyncDisposable {
  readonly #utils: WorkerUtils;
  readonly #runner: Runner;
  readonly #ends = new Map<string, () => void>();

  private constructor(utils: WorkerUtils, runner: Runner) {
    this.#utils = utils;
    this.#runner = runner;
    runner.events.on("job:success", ({ job }) => this.#ends.get(job.key ?? "")?.());
  }

  static async start(connectionString: string, schema: string): Promise<PlainQueue> {
    const options = { connectionString, schema, logger };
    const utils = await makeWorkerUtils(options);
    await utils.migrate();
    const taskList = { add: () => undefined };
    const runner = await run({ ...options, taskList, concurrency: inFlight, noHandleSignals: true });
    return new PlainQueue(utils, runner);
  }

  /** From the call that adds a job until the worker has completed it. */
  async life(): Promise<void> {
    const key = randomUUID();
    const end = Promise.withResolvers<void>();
    this.#ends.set(key, end.resolve);
    await this.#utils.addJob("add", { a: 19, b: 23 }, { jobKey: key });
    await end.promise;
    this.#ends.delete(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runner.stop();
    await this.#utils.release();
  }
}
