import { afterAll, beforeAll, expect, it } from "vitest";
import type { SeenTask } from "../crash/rpc.ts";
import { seededRandom } from "../crash/random.ts";
import { fullForm } from "../full-form.ts";
import { Subscription } from "../kit/subscription.ts";
import { Nodes, type Node } from "./nodes.ts";

/** How many tasks come at once. */
const many = fullForm ? 400 : 25;
const seed = Number(process.env["NODES_SEED"] ?? Math.floor(Math.random() * 1e9));
/** What is pushed comes at once; what is only found out by asking comes later. */
const promptMs = 5_000;
/** For a busy machine. */
const timeout = 60_000 + many * 100;

let nodes: Nodes;
let all: readonly Node[];

beforeAll(async () => {
  nodes = await Nodes.inNewDatabase();
  all = await Promise.all([nodes.start(), nodes.start(), nodes.start()]);
}, timeout);

afterAll(() => nodes[Symbol.asyncDispose](), timeout);

const random = seededRandom(seed);

function any(): Node {
  const node = all[Math.floor(random() * all.length)];
  if (node === undefined) throw new Error("There are three.");
  return node;
}

async function start(tool: string, word: string): Promise<string> {
  const { taskId } = await any().rpc.call(tool, { word }, undefined);
  if (taskId === undefined) throw new Error(`No task was made for ${word}.`);
  return taskId;
}

/**
 * Asks nodes until one shows that the task is so; then all of them show it as that one did. None shows the task older than another has shown it
 * before.
 */
async function until(taskId: string, isSo: (task: SeenTask) => boolean): Promise<SeenTask> {
  let last = await any().rpc.get(taskId);
  while (!isSo(last)) {
    const next = await any().rpc.get(taskId);
    expect(next.lastUpdatedAt >= last.lastUpdatedAt).toBe(true);
    last = next;
  }
  for (const { rpc } of all) expect(await rpc.get(taskId)).toEqual(last);
  return last;
}

const hasEnded = ({ status }: SeenTask): boolean => status !== "working" && status !== "input_required";
const done = (said: string): object => ({
  status: "completed",
  result: { content: [{ type: "text", text: said }] },
});

/** What may come to a task, each time from wherever the balancer sends it. */
const lives: Readonly<Record<string, (word: string) => Promise<void>>> = {
  async completes(word) {
    const taskId = await start("gated", word);
    for (const { rpc } of all) expect(await rpc.get(taskId)).toMatchObject({ taskId, status: "working" });
    nodes.openGate(word);
    expect(await until(taskId, hasEnded)).toMatchObject(done(`${word.toUpperCase()} ${word}`));
    expect(nodes.stepsOf(word)).toEqual(["first", "second"]);
  },

  async isCancelled(word) {
    const taskId = await start("gated", word);
    const isRunning = random() < 0.5;
    if (isRunning) await nodes.logged("(waits)", word);
    await any().rpc.cancel(taskId);
    if (isRunning) await nodes.logged("(aborted)", word);
    expect(await until(taskId, hasEnded)).toMatchObject({ status: "cancelled" });
  },

  async isAnswered(word) {
    const taskId = await start("asks", word);
    const { inputRequests = {} } = await until(taskId, ({ status }) => status === "input_required");
    const [key = ""] = Object.keys(inputRequests);
    const answer = { [key]: { action: "accept", content: { name: "Ada" } } };
    await any().rpc.update(taskId, answer);
    for (const { rpc } of all) expect((await rpc.get(taskId)).status).not.toBe("input_required");
    expect(await until(taskId, hasEnded)).toMatchObject(done(`Ada's ${word}`));
  },

  async isTold(word) {
    const taskId = await start("expects", word);
    const event = { taskId, value: "news", dedupeId: word };
    expect(await any().sendEvent(event)).toBe("new");
    expect(["known", "finished"]).toContain(await any().sendEvent(event));
    expect(await until(taskId, hasEnded)).toMatchObject(done(`${word} news`));
  },

  async callsOthers(word) {
    const taskId = await start("tree", word);
    const { inputRequests = {} } = await until(taskId, ({ status }) => status === "input_required");
    const [key = ""] = Object.keys(inputRequests);
    nodes.openGate(`${word}-gated`);
    await any().rpc.update(taskId, { [key]: { action: "accept", content: { name: "Ann" } } });
    const [gated, asked] = [`${word}-gated`, `${word}-asked`];
    expect(await until(taskId, hasEnded)).toMatchObject(
      done(`${gated.toUpperCase()} ${gated}, Ann's ${asked}`),
    );
  },
};

it(`three nodes are one: ${many} tasks, each request sent to any of them (NODES_SEED=${seed})`, async () => {
  const kinds = Object.entries(lives);
  await Promise.all(
    Array.from({ length: many }, async (_, index) => {
      const [kind, live] = kinds[index % kinds.length] ?? [];
      await live?.(`${kind}-${index}`);
    }),
  );
});

it("what one node changes, a listener at another hears", async () => {
  const [a, b, c] = all;
  if (a === undefined || b === undefined || c === undefined) throw new Error("There are three.");
  const begin = performance.now();
  const { taskId } = await a.rpc.call("expects", { word: "heard" }, undefined);
  if (taskId === undefined) throw new Error("No task was made.");
  const listener = await Subscription.to(c.url, { taskIds: [taskId] });
  await listener.next(); // that it listens
  expect(await listener.task()).toMatchObject({ taskId, status: "working" });
  await b.sendEvent({ taskId, value: "news", dedupeId: "heard" });
  expect(await listener.until("completed")).toMatchObject({ taskId, ...done("heard news") });

  const other = await a.rpc.call("gated", { word: "left" }, undefined);
  const listens = await Subscription.to(c.url, { taskIds: [other.taskId] });
  await listens.next();
  await b.rpc.cancel(String(other.taskId));
  expect(await listens.until("cancelled")).toMatchObject({ taskId: other.taskId });
  expect(performance.now() - begin).toBeLessThan(promptMs);
  await Promise.all([listener.leave(), listens.leave()]);
});
