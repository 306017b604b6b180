// Runs lives of jobs in another queue, as told by the process that started it, with which it ends: node peer.js KIND URL SCHEMA
import { randomUUID } from "node:crypto";

const [, , kind = "", url = "", schema = "", most = "50"] = process.argv;
/** The most that are ever in flight. @type {number} */
const inFlight = Number(most);

/** Packages of this folder, which the checks of the repository do not know. @type {(name: string) => Promise<any>} */
const load = (name) => import(name);

/** A job's life ends when its worker has completed it. @type {Map<string, () => void>} */
const ends = new Map();
/** @param {string} id */
const ended = (id) => {
  const end = ends.get(id);
  ends.delete(id);
  end?.();
};
/** @param {string} id @param {() => Promise<unknown>} add */
const whole = async (id, add) => {
  const { promise, resolve } = Promise.withResolvers();
  ends.set(id, () => resolve(undefined));
  await add();
  await promise;
};

/** What is added in one turn of the event loop goes together. @param {(jobs: any[]) => Promise<unknown>} add @param {number} size */
const inBatches = (add, size) => {
  /** @type {{ job: any, done: (added: unknown) => void }[]} */
  const waiting = [];
  const send = async () => {
    const batch = waiting.splice(0, size);
    if (waiting.length > 0) void send();
    await add(batch.map(({ job }) => job));
    for (const { done } of batch) done(undefined);
  };
  return (/** @type {any} */ job) =>
    new Promise((done) => {
      if (waiting.length === 0) setImmediate(() => void send());
      waiting.push({ job, done });
    });
};

/** graphile-worker: as in its first example, or with all that it offers for speed. @param {boolean} isTuned */
async function graphile(isTuned) {
  const { Logger, makeWorkerUtils, run } = await load("graphile-worker");
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ connectionString: url, schema, logger });
  await utils.migrate();
  const localQueue = isTuned && inFlight > 1 ? { localQueue: { size: 2 * inFlight } } : {};
  const tuned = { ...localQueue, completeJobBatchDelay: 1, failJobBatchDelay: 1 };
  const runner = await run({
    connectionString: url,
    schema,
    logger,
    noHandleSignals: true,
    taskList: { add: () => undefined },
    concurrency: inFlight,
    ...(isTuned && { preset: { worker: tuned } }),
  });
  runner.events.on("job:success", (/** @type {any} */ { job }) => ended(job.payload.id));
  const one = (/** @type {any} */ payload) => utils.addJob("add", payload);
  const some = inBatches(
    (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: "add", payload }))),
    50,
  );
  const add = isTuned ? some : one;
  return () => {
    const id = randomUUID();
    return whole(id, () => add({ id, a: 19, b: 23 }));
  };
}

/** pg-boss, with jobs fetched and completed in batches. */
async function boss() {
  const { PgBoss } = await load("pg-boss");
  const queue = new PgBoss({ connectionString: url, schema });
  queue.on("error", () => undefined);
  await queue.start();
  await queue.createQueue("add");
  const options = { batchSize: 50, pollingIntervalSeconds: 0.5, burstWhenReadyExceeds: 1 };
  await queue.work("add", options, async (/** @type {any[]} */ jobs) => {
    // It completes them after this function.
    setImmediate(() => jobs.forEach(({ data }) => ended(data.id)));
  });
  const add = inBatches(
    (jobs) =>
      queue.insert(
        "add",
        jobs.map((data) => ({ data })),
      ),
    50,
  );
  return () => {
    const id = randomUUID();
    return whole(id, () => add({ id, a: 19, b: 23 }));
  };
}

/** DBOS: a workflow with one step, started in this process and awaited. */
async function dbos() {
  const { DBOS } = await load("@dbos-inc/dbos-sdk");
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: url,
    systemDatabaseSchemaName: schema,
    logLevel: "error",
  });
  const work = DBOS.registerWorkflow(
    async (/** @type {number} */ a, /** @type {number} */ b) =>
      DBOS.runStep(async () => a + b, { name: "add" }),
    { name: "work" },
  );
  await DBOS.launch();
  return async () => void (await work(19, 23));
}

/** @type {Record<string, () => Promise<() => Promise<void>>>} */
const kinds = {
  graphile: () => graphile(false),
  "graphile-tuned": () => graphile(true),
  "pg-boss": boss,
  dbos,
};

const start = kinds[kind];
if (start === undefined) throw new Error(`There is no ${kind}.`);
const life = await start();

/** @param {number} ms */
async function keepWorking(ms) {
  const [before, begin] = [process.cpuUsage(), performance.now()];
  let done = 0;
  const keepBusy = async () => {
    for (; performance.now() - begin < ms; done++) await life();
  };
  await Promise.all(Array.from({ length: inFlight }, keepBusy));
  const { user, system } = process.cpuUsage(before);
  const perSecond = (done / (performance.now() - begin)) * 1_000;
  process.send?.({ perSecond, cpuMs: (user + system) / 1_000 });
}

process.on("message", (/** @type {{ ms: number }} */ { ms }) => void keepWorking(ms));
process.on("disconnect", () => process.exit());
process.send?.("ready");
