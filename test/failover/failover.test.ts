import { randomUUID } from "node:crypto";
import { postgresStore } from "holdfast/postgres";
import { expect, onTestFinished, test } from "vitest";
import { fullForm } from "../full-form.ts";
import { serve } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { acknowledged, Subscription } from "../kit/subscription.ts";
import { Nodes } from "../nodes/nodes.ts";
import { DatabaseProxy } from "../postgres/database-proxy.ts";
import { PgBouncer } from "../postgres/pgbouncer.ts";
import { FreshDatabase } from "../postgres/test-database.ts";
import { withClient } from "../postgres/with-client.ts";
import { Pair } from "./pair.ts";

const leaseMs = 3_000;
const patience = { timeout: 60_000 };
const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

async function startPair(kind: "synchronous" | "asynchronous"): Promise<Pair> {
  const pair = await Pair.start(kind);
  onTestFinished(() => pair[Symbol.asyncDispose]());
  return pair;
}

/** Servers with a short lease, whose handlers wait for the test, and what their handlers did. */
class Servers {
  readonly begun: string[] = [];
  readonly ended: string[] = [];
  readonly #url: string;
  readonly #leaseMs: number;
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  constructor(url: string, lease = leaseMs) {
    this.#url = url;
    this.#leaseMs = lease;
  }

  open(word: string): void {
    this.#gate(word).resolve();
  }

  async start(): Promise<StatelessClient & { readonly url: string }> {
    const { http } = await serve({
      tools: (tasks) => {
        const config = { inputSchema: undefined, pollIntervalMs: 100 };
        for (const word of ["a", "b", "c", "d"]) {
          // Without steps: it cannot run twice.
          tasks.tool(`whole-${word}`, config, async (_args, task) => {
            this.begun.push(word);
            task.signal.addEventListener("abort", () => this.ended.push(word));
            await this.#gate(word).promise;
            return text(word);
          });
          tasks.tool(`steps-${word}`, config, async (_args, task) => {
            for (const step of ["first", "second"]) {
              await task.step(step, () => void this.begun.push(`${word} ${step}`));
              if (step === "first") await this.#gate(word).promise;
            }
            return text(word);
          });
        }
      },
      options: {
        store: postgresStore(this.#url, { leaseMs: this.#leaseMs, timeoutMs: 1_000 }),
        pollIntervalMs: 100,
      },
    });
    return Object.assign(new StatelessClient(http.url), { url: http.url });
  }

  #gate(word: string): PromiseWithResolvers<void> {
    const gate = this.#gates.get(word) ?? Promise.withResolvers<void>();
    this.#gates.set(word, gate);
    return gate;
  }
}

/** `completed`, another status, or the code of the error. */
async function stateOf(client: StatelessClient, taskId: string): Promise<unknown> {
  const { result, error } = await client.send("tasks/get", { taskId });
  return result?.["status"] ?? error?.code;
}

const unknown = -32_602;
const leasesAreOver = `select 1 where not exists (
  select 1 from holdfast.owner where lease_until > clock_timestamp() - interval '1 second')`;

test("after an outage longer than the lease, and a failover to a synchronous standby, no task was lost, failed or run again", async () => {
  const pair = await startPair("synchronous");
  const servers = new Servers(pair.wire.url);
  const [one, other] = [await servers.start(), await servers.start()];
  const ids = [await one.start("whole-a"), await other.start("whole-b"), await other.start("steps-c")];
  await expect.poll(() => servers.begun, patience).toEqual(expect.arrayContaining(["a", "b", "c first"]));
  await pair.lose();
  servers.open("a"); // its end waits for the database
  await pair.until(leasesAreOver, pair.standby);
  await pair.promote();
  servers.open("b");
  servers.open("c");
  for (const id of ids) await expect.poll(() => stateOf(one, id), patience).toBe("completed");
  expect(servers.begun.toSorted()).toEqual(["a", "b", "c first", "c second"]);
});

/** Seconds without the database, and the lease. */
const outages: readonly { readonly seconds: number; readonly lease: number }[] = fullForm
  ? [
      { seconds: 20, lease: 15_000 },
      { seconds: 60, lease: 15_000 },
    ]
  : [{ seconds: 6, lease: leaseMs }];

test.each(outages)(
  "after $seconds s without the database, no task failed or ran again, and a listener that was there before is told to listen again",
  { timeout: 300_000 },
  async ({ seconds, lease }) => {
    const fresh = await FreshDatabase.create();
    const wire = await DatabaseProxy.before(fresh.url);
    onTestFinished(() => fresh[Symbol.asyncDispose]());
    onTestFinished(() => wire[Symbol.asyncDispose]());
    const servers = new Servers(wire.url, lease);
    const [one, other] = [await servers.start(), await servers.start()];
    const [meanwhile, later] = [await one.start("whole-a"), await one.start("whole-b")];
    await expect.poll(() => servers.begun, patience).toEqual(expect.arrayContaining(["a", "b"]));
    const listener = await Subscription.to(other.url, { taskIds: [meanwhile, later] });
    onTestFinished(() => listener.leave());
    expect(await listener.next()).toMatchObject({ method: acknowledged });
    wire.refuse();
    servers.open("a");
    const isOver = `select from holdfast.owner having max(lease_until) <
      clock_timestamp() + interval '${lease} milliseconds' - interval '${seconds} seconds'`;
    const hasPassed = (): Promise<number | null> =>
      withClient(fresh.url, async (client) => (await client.query(isOver)).rowCount);
    await expect.poll(hasPassed, { timeout: 2_000 * seconds, interval: 500 }).toBe(1);
    // It is told that its stream is over, and listens again.
    expect(await listener.next()).toMatchObject({ result: { resultType: "complete" } });
    expect(await listener.next()).toBeUndefined();
    wire.lead(fresh.url);
    for (const client of [one, other])
      await expect.poll(() => stateOf(client, later), patience).toBe("working");
    const again = await Subscription.to(other.url, { taskIds: [meanwhile, later] });
    onTestFinished(() => again.leave());
    expect(await again.next()).toMatchObject({ method: acknowledged });
    expect(await again.until("completed")).toMatchObject({ taskId: meanwhile });
    servers.open("b");
    expect(await again.until("completed")).toMatchObject({ taskId: later });
    expect(servers.begun.toSorted()).toEqual(["a", "b"]);
  },
);

test("what a failover to an asynchronous standby lost is gone on every node, and what it undid goes on", async () => {
  const pair = await startPair("asynchronous");
  const servers = new Servers(pair.wire.url);
  const [one, other] = [await servers.start(), await servers.start()];
  const [undone, runs] = [await one.start("steps-a"), await one.start("whole-b")];
  const whole = await one.start("whole-d"); // it cannot run twice
  await expect.poll(() => servers.begun, patience).toEqual(expect.arrayContaining(["a first", "b", "d"]));
  const [row] = await pair.ask("select pg_current_wal_lsn()::text as lsn");
  await pair.until(`select 1 where pg_last_wal_replay_lsn() >= '${String(row?.["lsn"])}'`, pair.standby);
  pair.replication.fallSilent();
  for (const word of ["a", "d"]) servers.open(word);
  for (const id of [undone, whole]) expect(await one.ended(id)).toMatchObject({ status: "completed" });
  const lost = await one.start("whole-c");
  await expect.poll(() => servers.begun, patience).toContain("c");
  await pair.lose();
  await pair.promote();
  // The node has ended it, and the new server says that the node runs it.
  for (const id of [undone, whole]) await expect.poll(() => stateOf(other, id), patience).toBe("completed");
  for (const client of [one, other]) await expect.poll(() => stateOf(client, lost), patience).toBe(unknown);
  await expect.poll(() => servers.ended, patience).toEqual(["c"]);
  const listener = await Subscription.to(other.url, { taskIds: [runs] });
  onTestFinished(() => listener.leave());
  expect(await listener.next()).toMatchObject({ method: acknowledged });
  servers.open("b");
  expect(await listener.until("completed")).toMatchObject({ taskId: runs });
  await pair.until(
    `select 1 where not exists (select 1 from holdfast.task where state = 'running')`,
    pair.standby,
  );
  for (const word of ["b", "d"]) expect(servers.begun.filter((each) => each === word)).toHaveLength(1);
});

test("a process that stood still for longer than its lease begins no step of a task that others have finished", async () => {
  await using nodes = await Nodes.inNewDatabase("tasks", leaseMs);
  const both = [await nodes.start(), await nodes.start()];
  const word = randomUUID();
  const { taskId = "" } = (await both[0]?.rpc.call("gated", { word }, undefined)) ?? {};
  await nodes.logged("(waits)", word);
  const [runner = Number.NaN] = nodes.runnersOf(word);
  process.kill(runner, "SIGSTOP");
  nodes.openGate(word);
  const other = both.find(({ pid }) => pid !== runner);
  await expect.poll(async () => (await other?.rpc.get(taskId))?.status, patience).toBe("completed");
  process.kill(runner, "SIGCONT");
  await nodes.logged("(aborted)", word);
  expect(nodes.stepsOf(word)).toEqual(["first", "second"]);
});

test(
  "behind PgBouncer, a node that was led to a standby works again with the primary server",
  { timeout: 300_000 },
  async ({ skip }) => {
    const pair = await startPair("synchronous");
    const pool = await PgBouncer.start(pair.wire.url);
    if (typeof pool === "string") return skip(pool);
    onTestFinished(() => pool.end());
    const url = pool.url;
    const { http } = await serve({
      tools: (tasks) => tasks.tool("add", {}, () => text("42")),
      options: { store: postgresStore(url, { leaseMs, timeoutMs: 2_000, directUrl: null }) },
    });
    const client = new StatelessClient(http.url);
    const call = async (): Promise<unknown> => {
      const { result } = await client.call("add");
      return result === undefined ? "refused" : stateOf(client, String(result["taskId"]));
    };
    await expect.poll(call, patience).not.toBe("refused");
    pair.wire.lead(pair.standby.url);
    pair.wire.cut();
    await expect.poll(call, patience).toBe("refused");
    pair.wire.lead(pair.primary.url);
    pair.wire.cut();
    await expect.poll(call, patience).not.toBe("refused");
  },
);
