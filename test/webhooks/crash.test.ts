import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "holdfast/client";
import { expect, onTestFinished, test } from "vitest";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { secret } from "./hooked-process.ts";
import { accept, isSigned, Receiver, type Answering } from "./receiver.ts";

const script = fileURLToPath(new URL("./hooked-server.ts", import.meta.url));
const minute = 60_000;

interface RunningServer {
  readonly url: string;
  readonly child: ChildProcess;
}

/** Servers on one file, one after the other, each of which is killed; every one begins a minute after the one before. */
class Servers {
  readonly #database: string;
  readonly #receiver: Receiver;
  #started = 0;

  constructor(database: string, receiver: Receiver) {
    this.#database = database;
    this.#receiver = receiver;
  }

  async start(): Promise<RunningServer> {
    const args = [script, this.#database, this.#receiver.url, secret, String(this.#started++ * minute)];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [line] = (await once(child.stdout ?? child, "data")) as [Buffer];
    return { url: line.toString().trim(), child };
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

/** Calls the tool so often, until the server has died or all have ended. */
async function call({ url, child }: RunningServer, times: number): Promise<void> {
  const client = await connect(url).catch(() => undefined);
  if (client === undefined) return;
  const calls = Array.from({ length: times }, () => client.callTool("work", {}));
  const settled = Promise.allSettled(calls);
  if (child.signalCode === null) await Promise.race([settled, once(child, "exit")]);
  await client.close().catch(() => undefined);
}

test.each<[string, (child: () => ChildProcess) => Answering]>([
  ["before a message is answered, which others send then", () => () => undefined],
  [
    "after a message was received, and before it can note that",
    (child) => (message) => {
      child().kill("SIGKILL");
      accept(message);
    },
  ],
])("every change arrives where servers are killed %s", { timeout: 120_000 }, async (_, answering) => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-webhooks-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const database = join(folder, "tasks.db");
  await using receiver = await Receiver.start();
  const servers = new Servers(database, receiver);
  for (let round = 1; round <= 3; round++) {
    const server = await servers.start();
    receiver.answering = answering(() => server.child);
    const before = receiver.received.length;
    await call(server, 3);
    await receiver.has(before + 1);
    await kill(server.child);
  }
  receiver.answering = accept;
  const last = await servers.start();
  const store = sqliteStore(database);
  await store.open({ id: "reader", handlers: [] });
  const left = async (): Promise<number> =>
    (await store.unfinished("", 99)).length + ((await store.outbox?.counts(99)) ?? []).length;
  await expect.poll(left, { timeout: minute }).toBe(0);
  const tasks = (await store.admin?.tasks({ of: "all" }, null, 99)) ?? [];
  await store.close();
  await kill(last.child);

  expect(tasks.length).toBeGreaterThan(0);
  const told = tasks.map(({ id }) => {
    const types = new Set(
      receiver.received.filter(({ data }) => data["taskId"] === id).map(({ type }) => type),
    );
    return [...types].sort();
  });
  // One that ran as its server was killed, and had no step yet, has failed.
  const ends = tasks.map(({ outcomeKind }) => (outcomeKind === "result" ? "task.completed" : "task.failed"));
  expect(told).toEqual(ends.map((end) => ["task.created", end].sort()));
  // Some came more than once, each time under the same id and as it was.
  const ids = new Map(receiver.received.map(({ id, body }) => [id, body]));
  expect(ids.size).toBe(2 * tasks.length);
  expect(receiver.received.length).toBeGreaterThan(ids.size);
  expect(receiver.received.every(({ id, body }) => ids.get(id) === body)).toBe(true);
  expect(receiver.received.every((message) => isSigned(message, secret))).toBe(true);
});
