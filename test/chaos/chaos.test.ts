import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { LogLine } from "../crash/log.ts";
import { fullForm } from "../full-form.ts";
import { DatabaseProxy } from "../postgres/database-proxy.ts";
import { OwnServer } from "../postgres/own-server.ts";
import { withClient } from "../postgres/with-client.ts";
import { Scene, type SceneSetup } from "./scene.ts";

const tasks = fullForm ? 200 : 40;
const seed = Number(process.env["CHAOS_SEED"] ?? Math.floor(Math.random() * 1e9));
const leaseMs = 2_500;
const timeout = 180_000;

let database: OwnServer;
beforeAll(async () => {
  database = await OwnServer.start({ max_connections: "70", superuser_reserved_connections: "3" });
});
afterAll(() => database.end());

async function open(setup: Partial<SceneSetup> = {}): Promise<Scene> {
  const url = new URL(database.url);
  const name = `chaos_${randomBytes(4).toString("hex")}`;
  await withClient(database.url, (client) => client.query(`create database ${name}`));
  url.pathname = `/${name}`;
  return Scene.open({ url: url.href, tasks, seed, options: { leaseMs }, ...setup });
}

/** A connection of a stranger, for as long as the test lasts. */
async function stranger(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}

/** Until a lease is over and others have taken what it held. */
const pastLease = (): Promise<void> => pause(leaseMs + 2_000);

/** Longer than Postgres lets a transaction of a node be idle. */
const idleMs = 8_000;

const endOthers = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`;
const inTransaction = `select 1 from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and state = 'idle in transaction'`;

const named = (what: string): string => `${what} (CHAOS_SEED=${seed})`;

test(named("a node is killed"), { timeout }, async () => {
  const scene = await open();
  await scene.nodes[0]?.kill();
  await scene.expectKept();
});

test(named("Postgres crashes and comes back"), { timeout }, async () => {
  const scene = await open();
  await database.stop("immediate");
  await pause(1_000);
  await database.start();
  await scene.expectKept();
});

test.runIf(fullForm)(named("a node stops for longer than its lease, and goes on"), { timeout }, async () => {
  const scene = await open();
  scene.nodes[0]?.stop();
  await pastLease();
  scene.nodes[0]?.continue();
  await scene.expectKept();
});

test.runIf(fullForm)(named("all connections are ended, again and again"), { timeout }, async () => {
  const scene = await open();
  for (let n = 0; n < 5; n++) {
    await scene.query(endOthers);
    await pause(300);
  }
  await scene.expectKept();
});

test.runIf(fullForm)(named("others take all connections"), { timeout }, async () => {
  const scene = await open();
  await scene.query(endOthers);
  const taken: Client[] = [];
  for (let refused = 0; refused < 10;) {
    await stranger(scene.url).then(
      (client) => void taken.push(client),
      () => refused++,
    );
  }
  await pause(leaseMs + 1_000);
  await Promise.all(taken.map((client) => client.end()));
  await scene.expectKept();
});

test.runIf(fullForm)(named("a stranger's open transaction holds tasks"), { timeout }, async () => {
  const scene = await open();
  const client = await stranger(scene.url);
  await client.query("begin");
  await client.query("select id from holdfast.task where state in ('queued', 'running') limit 20 for update");
  await pause(idleMs);
  await client.end();
  await scene.expectKept();
});

test.runIf(fullForm)(named("a node stops in its transactions"), { timeout }, async () => {
  const scene = await open();
  const client = await stranger(scene.url);
  for (let n = 0, found = 0; n < 300 && found === 0; n++) {
    scene.nodes[0]?.stop();
    await pause(20); // the others come to the end of theirs
    found = (await client.query(inTransaction)).rowCount ?? 0;
    if (found === 0) scene.nodes[0]?.continue();
  }
  await pause(idleMs);
  scene.nodes[0]?.continue();
  await scene.expectKept();
});

test.runIf(fullForm)(named("the nodes do not hear each other"), { timeout }, async () => {
  const proxy = await DatabaseProxy.before(database.url);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  // Listeners are at a database where nobody tells anything, then at none.
  const scene = await open({
    options: { leaseMs, directUrl: proxy.url },
    mayAskAgain: true,
  });
  await pause(2_000);
  proxy.fallSilent();
  await pause(2_000);
  proxy.cut();
  proxy.speak();
  await scene.expectKept();
});

test.runIf(fullForm)(named("takeover comes with the end of the default lease"), { timeout }, async () => {
  const scene = await open({ options: {} });
  const pid = scene.nodes[0]?.pid;
  const killedAt = Date.now();
  await scene.nodes[0]?.kill();
  await scene.expectKept();
  const { lines } = scene;
  const left = new Set(lines.filter((line) => line.pid === pid).map(({ task }) => task));
  const isLeft = ({ event, task, attempt }: LogLine): boolean =>
    event === "begins" && left.has(task) && attempt > 1;
  const taken = lines.filter((line) => isLeft(line) && line.at > killedAt + 5_000);
  const takenAfter = Math.min(...taken.map(({ at }) => at - killedAt));
  expect(takenAfter).toBeGreaterThan(12_000);
  expect(takenAfter).toBeLessThan(30_000);
});
