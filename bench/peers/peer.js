// Runs lives of jobs in another queue, as told by the process that started it, with which it ends: node peer.js KIND URL SCHEMA
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

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

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  await once(server, "close");
  return port;
}

/** Restate: a service with one step in this process, called through its engine, which is a process of its own and keeps its own files. */
async function restate() {
  const sdk = await load("@restatedev/restate-sdk");
  const clients = await load("@restatedev/restate-sdk-clients");
  const [ingress, admin, node, own] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const add = async (/** @type {any} */ context, /** @type {{ a: number, b: number }} */ { a, b }) =>
    context.run("add", () => a + b);
  await sdk.serve({
    services: [sdk.service({ name: "work", handlers: { add } })],
    port: own,
    logger: () => undefined,
  });
  const files = mkdtempSync(join(tmpdir(), "restate-"));
  const system = `restate-server-${process.platform}-${process.arch}`;
  const program = new URL(`./node_modules/@restatedev/${system}/bin/restate-server`, import.meta.url);
  const engine = spawn(fileURLToPath(program), ["--no-logo", "--base-dir", files], {
    stdio: "ignore",
    env: {
      ...process.env,
      RESTATE_DISABLE_TELEMETRY: "true",
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_IP: "127.0.0.1",
      RESTATE_BIND_PORT: String(node),
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    },
  });
  process.on("exit", () => {
    engine.kill("SIGKILL");
    rmSync(files, { recursive: true, force: true, maxRetries: 5 });
  });
  const deployment = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri: `http://127.0.0.1:${own}` }),
  };
  const register = () =>
    fetch(`http://127.0.0.1:${admin}/deployments`, deployment).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await register())) {
    if (engine.exitCode !== null) throw new Error("The engine of Restate has ended.");
    await pause(100);
  }
  const client = clients.connect({ url: `http://127.0.0.1:${ingress}` }).serviceClient({ name: "work" });
  return async () => void (await client.add({ a: 19, b: 23 }));
}

/** @type {Record<string, () => Promise<() => Promise<void>>>} */
const kinds = {
  graphile: () => graphile(false),
  "graphile-tuned": () => graphile(true),
  "pg-boss": boss,
  dbos,
  restate,
};

const start = kinds[kind];
if (start === undefined) throw new Error(`There is no ${kind}.`);
const life = await start();

/** @param {{ ms: number, inFlight?: number }} order */
async function keepWorking({ ms, inFlight: limit = inFlight }) {
  const [before, begin] = [process.cpuUsage(), performance.now()];
  let lives = 0;
  const keepBusy = async () => {
    for (; performance.now() - begin < ms; lives++) await life();
  };
  await Promise.all(Array.from({ length: limit }, keepBusy));
  const { user, system } = process.cpuUsage(before);
  const perSecond = (lives / (performance.now() - begin)) * 1_000;
  process.send?.({ lives, perSecond, cpuMs: (user + system) / 1_000 });
}

process.on("message", (/** @type {{ ms: number }} */ order) => void keepWorking(order));
process.on("disconnect", () => process.exit());
process.send?.("ready");
