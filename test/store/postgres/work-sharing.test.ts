import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import type { News } from "../../../src/store/postgres/news.ts";
import { WorkSharing } from "../../../src/store/postgres/work-sharing.ts";
import { rest } from "../../../src/testing/clocks.ts";

/** So long that no test sees it pass. */
const neverMs = 10_000_000;

/** Processes that hear each other at once, as over the channel. */
class Group {
  readonly nodes = new Map<string, Node>();

  /** A process that knows nothing of the others, as after its start. */
  join(name: string, patienceMs = neverMs): Node {
    const node = new Node(name, this, patienceMs);
    this.nodes.set(name, node);
    this.pass(name, "gap");
    return node;
  }

  pass(from: string, news: Pick<News, "work" | "worker"> | "gap"): void {
    for (const [name, { work }] of this.nodes) {
      if (name === from) continue;
      work.hear(from, news === "gap" ? "gap" : news.worker);
      if (news === "gap") continue;
      if (news.work === "all") work.look();
      else if (news.work?.owner === name) work.tell(news.work.tasks);
    }
  }
}

class Node {
  readonly work: WorkSharing;
  readonly sent: Pick<News, "work" | "worker">[] = [];
  /** Of how many tasks it was told, each time. */
  readonly looks: number[] = [];
  /** What it answers. */
  answer: (tasks: number) => Promise<boolean> = async () => true;
  readonly #events = new EventTarget();

  constructor(name: string, group: Group, patienceMs: number) {
    this.work = new WorkSharing({
      patienceMs,
      send: (news) => {
        this.sent.push(news);
        this.#events.dispatchEvent(new Event("sent"));
        group.pass(name, news);
      },
    });
    made.push(this);
  }

  /** Runs tasks from now on. */
  works(answer?: Node["answer"]): this {
    if (answer !== undefined) this.answer = answer;
    this.work.onWork((tasks) => {
      this.looks.push(tasks);
      return this.answer(tasks);
    });
    return this;
  }

  get asked(): number {
    return this.looks.length;
  }

  /** Resolves once everyone was told. */
  async tellsAll(): Promise<void> {
    while (!this.sent.some(({ work }) => work === "all")) await once(this.#events, "sent");
  }
}

let made: Node[] = [];
afterEach(() => {
  for (const { work } of made) work.close();
  made = [];
});

const full = async (): Promise<boolean> => false;

test("tasks of a process that runs none are left to one of those that do, in turn", async () => {
  const group = new Group();
  const [a, b] = [group.join("a").works(), group.join("b").works()];
  const front = group.join("front");
  for (let n = 1; n <= 4; n++) {
    front.work.offer(n);
    await rest();
  }
  expect([a.looks, b.looks]).toEqual([
    [1, 3],
    [2, 4],
  ]);
  expect(front.sent.every(({ work }) => work !== "all")).toBe(true);
});

test("a process with a free slot takes its own tasks, and tells nobody", async () => {
  const group = new Group();
  const [a, b] = [group.join("a").works(), group.join("b").works()];
  a.sent.length = 0;
  a.work.offer(1);
  await rest();
  expect([a.looks, b.looks, a.sent]).toEqual([[1], [], []]);
});

test("a process without a free slot leaves its tasks to one that has some, and not to others that have none", async () => {
  const group = new Group();
  const [a, b, c] = [group.join("a").works(full), group.join("b").works(full), group.join("c").works()];
  b.work.offer(1); // is full, and so is a; c is not
  await rest();
  a.work.offer(1);
  await rest();
  const before = { b: b.asked, c: c.asked };
  for (let n = 0; n < 3; n++) {
    a.work.offer(1);
    await rest();
  }
  expect({ b: b.asked - before.b, c: c.asked - before.c }).toEqual({ b: 0, c: 3 });
});

test("when none has a free slot, everyone hears of the tasks, and may take them later", async () => {
  const group = new Group();
  const [a, b, front] = [group.join("a").works(full), group.join("b").works(full), group.join("front")];
  front.work.offer(1);
  await rest();
  expect([a.asked > 0, b.asked > 0]).toEqual([true, true]);
  front.work.offer(1);
  await rest();
  expect(front.sent.at(-1)).toEqual({ work: "all" });
  a.answer = async () => true;
  a.work.foundNoMore(); // its slots are free again
  const before = b.asked;
  front.work.offer(1);
  await rest();
  expect([front.sent.at(-1), b.asked]).toEqual([{ work: { owner: "a", tasks: 1 } }, before]);
});

test("a process that takes less than it was left has everyone look", async () => {
  const group = new Group();
  const [a, b, front] = [
    group.join("a").works(async (tasks) => tasks < 5),
    group.join("b").works(),
    group.join("front"),
  ];
  front.work.offer(7);
  await rest();
  expect([a.looks[0], b.asked]).toEqual([7, 1]);
});

test("what comes while a process looks is covered by one more look", async () => {
  const group = new Group();
  const look = Promise.withResolvers<boolean>();
  const a = group.join("a").works(() => look.promise);
  a.work.offer(1);
  for (let n = 0; n < 5; n++) a.work.offer(2);
  await rest();
  expect(a.looks).toEqual([1]);
  look.resolve(true);
  await rest();
  expect(a.looks).toEqual([1, 10]);
});

test("a process that is silent after it was told is taken for dead, and everyone hears of the tasks", async () => {
  const group = new Group();
  group.join("dead").works();
  const front = group.join("front", 1);
  const alive = group.join("alive");
  group.nodes.delete("dead"); // hears and says nothing more
  front.work.offer(1);
  await front.tellsAll();
  alive.works();
  front.work.offer(1);
  expect(alive.looks).toEqual([1]); // at once: the front would soon take this one for dead, too
});

test("a process that has left, or runs no more tasks, is told of none", async () => {
  const group = new Group();
  const [a, b, front] = [group.join("a").works(), group.join("b"), group.join("front")];
  const stop = b.work.onWork(() => Promise.resolve(true));
  a.work.close();
  stop();
  front.work.offer(1);
  await rest();
  expect(front.sent).toEqual([{ work: "all" }]);
});
