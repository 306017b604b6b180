import { once } from "node:events";
import { Pool } from "pg";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { Database } from "../../../src/store/postgres/database.ts";
import { loadQueueLibrary, type QueueLibrary } from "../../../src/store/postgres/queue-library.ts";
import { WakeQueue, type WakeQueueSetup } from "../../../src/store/postgres/wake-queue.ts";
import { OwnServer } from "../../postgres/own-server.ts";
import { FreshSchema } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";

let schema: FreshSchema;
let nodes: Node[];

/** What one of several processes has of the queue. */
class Node {
  readonly queue: WakeQueue;
  readonly database: Database;
  readonly problems: unknown[] = [];
  asked = 0;
  /** Of how many tasks it was told at least. */
  tasks = 0;
  askedOthers = 0;
  /** What it answers when it is asked. */
  answer: () => Promise<boolean> = () => Promise.resolve(true);
  readonly #events = new EventTarget();

  constructor(url: string, setup: Pick<WakeQueueSetup, "library"> & Partial<WakeQueueSetup>) {
    this.database = new Database(new Pool({ connectionString: url, max: 4 }), 10_000);
    this.queue = new WakeQueue({
      schema: `${schema.schema}_queue`,
      database: this.database,
      connection: { connectionString: url },
      askOthers: () => {
        this.askedOthers++;
        this.#events.dispatchEvent(new Event("event"));
      },
      onError: (error) => this.problems.push(error),
      ...setup,
    });
  }

  work(): () => void {
    return this.queue.onWork((tasks) => {
      this.asked++;
      this.tasks += tasks;
      this.#events.dispatchEvent(new Event("event"));
      return this.answer();
    });
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await once(this.#events, "event");
  }

  /** As a write does that makes tasks claimable. */
  async addJob(isCommitted = true): Promise<void> {
    const transaction = await this.database.begin();
    const { sql, values } = this.queue.statement;
    // What fails fails the commit, too, which gives the connection back.
    void transaction.query(sql, values);
    await (isCommitted ? transaction.commit() : transaction.rollback());
  }

  async close(): Promise<void> {
    await this.queue.close();
    await this.database.close();
  }
}

beforeEach(async () => {
  schema = await FreshSchema.inSharedDatabase();
  nodes = [];
});

afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  await schema.drop();
});

async function installedLibrary(): Promise<QueueLibrary> {
  const library = await loadQueueLibrary(true);
  if (library === undefined) throw new Error("graphile-worker is not installed");
  return library;
}

async function openNode(setup: Partial<WakeQueueSetup> = {}, url = schema.url): Promise<Node> {
  const node = new Node(url, { library: await installedLibrary(), ...setup });
  nodes.push(node);
  await node.queue.open(true);
  return node;
}

const countJobs = (): Promise<number> =>
  withClient(schema.url, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from "${schema.schema}_queue".jobs`,
    );
    return rows[0]?.count ?? 0;
  });

const noJobs = (): Promise<void> =>
  vi.waitFor(async () => expect(await countJobs()).toBe(0), { timeout: 10_000 });

/** As one that died before it did what it was told: the job is its own for hours. */
const lockJobs = (age: string): Promise<unknown> =>
  withClient(schema.url, (client) =>
    client.query(
      `update "${schema.schema}_queue"._private_jobs set locked_by = 'dead', locked_at = now() - $1::interval, run_at = now() - $1::interval`,
      [age],
    ),
  );

test("wakes one of several for each job, and the job is over before it looks", async () => {
  const [a, b, front] = [await openNode(), await openNode(), await openNode()];
  const { promise, resolve } = Promise.withResolvers<boolean>();
  for (const node of [a, b]) {
    node.answer = () => promise;
    node.work();
  }
  await front.addJob();
  await Promise.race([a, b].map((node) => node.until(() => node.asked === 1)));
  await noJobs();
  expect(a.asked + b.asked).toBe(1);
  resolve(true);
  await front.addJob();
  await Promise.race([a, b].map((node) => node.until(() => a.asked + b.asked === 2)));
  await noJobs();
  expect([a.askedOthers, b.askedOthers, front.asked]).toEqual([0, 0, 0]);
});

test("has all others asked when one says that something may be left, and when it fails", async () => {
  const a = await openNode();
  a.answer = () => Promise.resolve(false);
  a.work();
  await a.addJob();
  await a.until(() => a.askedOthers === 1);
  a.answer = () => Promise.reject(new Error("mine"));
  await a.addJob();
  await a.until(() => a.askedOthers === 2);
  await noJobs();
  expect(a.problems).toEqual([new Error("mine")]);
});

test("has it look once more for all jobs that come while it looks", async () => {
  const a = await openNode();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  a.answer = () => promise;
  a.work();
  await a.addJob();
  await a.until(() => a.asked === 1);
  for (let jobs = 0; jobs < 5; jobs++) await a.addJob();
  await noJobs();
  expect(a.asked).toBe(1);
  resolve(true);
  await a.until(() => a.asked === 2);
  await a.queue.close();
  expect([a.asked, a.tasks]).toEqual([2, 6]);
});

test("wakes nobody for a transaction that was rolled back", async () => {
  const a = await openNode();
  a.work();
  await a.addJob(false);
  await a.addJob();
  await a.until(() => a.asked > 0);
  await noJobs();
  expect(a.asked).toBe(1);
});

test("keeps jobs while nobody listens, and takes none after the last one stopped", async () => {
  const a = await openNode();
  await a.addJob();
  expect(await countJobs()).toBe(1);
  const stop = a.work();
  await a.until(() => a.asked === 1);
  await noJobs();
  stop();
  await a.queue.close();
  await a.addJob();
  expect(await countJobs()).toBe(1);
});

test("deletes what a dead worker has locked and what nobody takes, and asks all instead", async () => {
  const a = await openNode();
  await a.addJob();
  await a.addJob();
  await lockJobs("30 seconds");
  await a.queue.clean();
  expect([await countJobs(), a.askedOthers]).toEqual([2, 0]);
  await lockJobs("61 seconds");
  await a.queue.clean();
  expect([await countJobs(), a.askedOthers]).toEqual([0, 1]);
  await a.queue.clean();
  expect(a.askedOthers).toBe(1);
});

test("deletes however many jobs nobody took", async () => {
  const a = await openNode();
  await a.addJob();
  await withClient(schema.url, (client) =>
    client.query(
      `insert into "${schema.schema}_queue"._private_jobs (task_id, payload) select task_id, payload from "${schema.schema}_queue"._private_jobs, generate_series(1, 2500)`,
    ),
  );
  await lockJobs("61 seconds");
  await a.queue.clean();
  expect([await countJobs(), a.askedOthers]).toEqual([0, 1]);
});

test("cleans up now and then by itself, be it with several at the same time", async () => {
  const front = await openNode({ staleMs: 10 });
  await openNode({ staleMs: 10 });
  await front.addJob();
  await noJobs();
});

test("goes on after its connections were cut and after the server was away, and prints nothing", async () => {
  await using server = await OwnServer.start();
  const printed = (["log", "error", "warn", "trace"] as const).map((name) => vi.spyOn(console, name));
  const a = await openNode({}, server.url);
  a.work();
  await a.addJob();
  await a.until(() => a.asked === 1);
  await withClient(server.url, (client) =>
    client.query("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"),
  );
  await vi.waitFor(() => a.addJob(), { timeout: 10_000 });
  await a.until(() => a.asked >= 2);
  await server.stop("immediate");
  await server.start();
  await vi.waitFor(() => a.addJob(), { timeout: 10_000 });
  await a.until(() => a.asked >= 3);
  await server.stop("immediate");
  await a.queue.close();
  for (const print of printed) {
    expect(print).not.toHaveBeenCalled();
    print.mockRestore();
  }
});

test("makes its tables once, however many processes begin together, or not at all", async () => {
  const library = await installedLibrary();
  const strict = new Node(schema.url, { library });
  nodes.push(strict);
  await expect(strict.queue.open(false)).rejects.toMatchObject({
    code: "store_unusable",
    message: expect.stringContaining("holdfast migrate") as string,
  });
  await Promise.all(Array.from({ length: 4 }, () => openNode()));
  await strict.queue.open(false);
});

test("whoever is asked with all others looks, too", async () => {
  const a = await openNode();
  a.work();
  a.queue.ask();
  expect([a.asked, a.askedOthers]).toEqual([1, 0]);
});

test("goes on when another schema of the database gets a queue, and leaves the process its exit code", async () => {
  const other = await FreshSchema.inSharedDatabase();
  onTestFinished(() => other.drop());
  const node = await openNode();
  node.work();
  await node.addJob();
  await node.until(() => node.asked > 0); // by now it listens
  await withClient(schema.url, async (client) => {
    await client.query('listen "worker:migrate"');
    const notification = once(client, "notification");
    await openNode({ schema: `${other.schema}_queue` });
    await notification;
  });
  const { asked } = node;
  await node.addJob();
  await node.until(() => node.asked > asked);
  expect(node.problems).toEqual([]);
  expect(process.exitCode).toBeUndefined();
});
