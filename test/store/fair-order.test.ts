import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { fullForm } from "../full-form.ts";
import { takeFairly } from "../../src/store/fair-order.ts";
import { type ClaimingHandler, noTurns, type Turns } from "../../src/task/queue.ts";
import type { QueueLane } from "../../src/task/record.ts";
import { handler, linesOf, type Ready } from "./ready-tasks.ts";

let made = 0;

function ready(tool: string, principal: string, lane: QueueLane = "new", runAfter = made): Ready {
  return { id: `t${String(made++).padStart(6, "0")}`, runAfter, handler: handler(tool), principal, lane };
}

function many(count: number, ...how: Parameters<typeof ready>): readonly Ready[] {
  return Array.from({ length: count }, () => ready(...how));
}

/** Claims as a process does, a page at a time, until nothing is left or `most` are taken. */
function claimAll(
  tasks: readonly Ready[],
  handlers: readonly ClaimingHandler[],
  page = 1,
  most = tasks.length,
): readonly Ready[] {
  let turns: Turns = noTurns;
  let left = tasks;
  const claimed: Ready[] = [];
  while (claimed.length < most) {
    const limit = Math.min(page, most - claimed.length);
    const taken = takeFairly(linesOf(left), { handlers, turns, limit }, () => 0);
    if (taken.tasks.length === 0) break;
    claimed.push(...taken.tasks);
    left = left.filter((task) => !taken.tasks.includes(task));
    turns = taken.turns;
  }
  return claimed;
}

const names = (tasks: readonly Ready[]) => tasks.map(({ principal }) => principal);
const lanes = (tasks: readonly Ready[]) => tasks.map(({ lane }) => lane);

describe("tasks are taken", () => {
  const x = handler("x");

  it("in the order of their time, where all are of one principal and one lane", () => {
    const tasks = [5, 3, 9, 1].map((at) => ready("x", "ann", "new", at));
    expect(claimAll(tasks, [x], 9).map(({ runAfter }) => runAfter)).toEqual([1, 3, 5, 9]);
  });

  it("from principals in turn, however many one has", () => {
    const tasks = [...many(50, "x", "ann"), ready("x", "cy"), ready("x", ""), ...many(2, "x", "bob")];
    expect(names(claimAll(tasks, [x], 3)).slice(0, 7)).toEqual(["", "ann", "bob", "cy", "ann", "bob", "ann"]);
  });

  it("from the lanes in turn", () => {
    const tasks = [
      ...many(9, "x", "", "recovered"),
      ...many(2, "x", "", "new"),
      ...many(2, "x", "", "woken"),
    ];
    expect(lanes(claimAll(tasks, [x], 4)).slice(0, 8)).toEqual([
      "woken",
      "new",
      "recovered",
      "woken",
      "new",
      "recovered",
      "recovered",
      "recovered",
    ]);
  });

  it("of the handler with the higher priority first, each with turns of its own", () => {
    const urgent = { ...handler("y"), priority: 1 };
    const tasks = [...many(3, "y", "bob"), ...many(2, "x", "ann"), ready("x", "bob"), ready("x", "cy")];
    expect(claimAll(tasks, [x, urgent]).map((task) => `${task.handler.tool} ${task.principal}`)).toEqual([
      ...Array.from({ length: 3 }, () => "y bob"),
      "x ann",
      "x bob",
      "x cy",
      "x ann",
    ]);
  });

  it("of no handler that is not asked for, nor of one that has no room", () => {
    const tasks = [ready("z", "ann"), ready("y", "ann"), ready("x", "ann")];
    const query = { handlers: [x, { ...handler("y"), concurrency: 2 }], turns: noTurns, limit: 9 };
    const taken = takeFairly(linesOf(tasks), query, () => 2);
    expect(taken).toMatchObject({ tasks: [tasks[2]], heldBack: true });
    expect(takeFairly(linesOf(tasks), query, () => 1)).toMatchObject({
      tasks: [tasks[1], tasks[2]],
      heldBack: true,
    });
    expect(takeFairly(linesOf(tasks), query, () => 0)).toMatchObject({ heldBack: false });
  });

  it("of a handler with a limit from principals in turn, although others have turns while it has no room", () => {
    const limited = { ...handler("y"), concurrency: 1 };
    const tasks = [...many(9, "y", "ann"), ...many(9, "y", "bob"), ...many(20, "x", "cy")];
    let turns: Turns = noTurns;
    let left: readonly Ready[] = tasks;
    const seen: string[] = [];
    for (let claim = 0; claim < 12; claim++) {
      // There is room for every third claim.
      const query = { handlers: [x, limited], turns, limit: 1 };
      const taken = takeFairly(linesOf(left), query, () => (claim % 3 === 0 ? 0 : 1));
      seen.push(...names(taken.tasks));
      left = left.filter((task) => !taken.tasks.includes(task));
      turns = taken.turns;
    }
    expect(seen.filter((name) => name !== "cy")).toEqual(["ann", "bob", "ann", "bob"]);
  });

  it("of a handler with a limit for others, too, where one principal has most of everything", () => {
    const limited = { ...handler("y"), concurrency: 1 };
    const tasks = [...many(50, "x", "ann"), ...many(50, "y", "ann"), ready("y", "bob")];
    expect(names(claimAll(tasks, [x, limited])).indexOf("bob")).toBeLessThanOrEqual(2);
  });
});

const tools = ["x", "y", "z"] as const;
const arbitraryTask = fc.record({
  tool: fc.constantFrom(...tools),
  principal: fc.constantFrom("", "ann", "bob", "cy", "\uffff", "😀"),
  lane: fc.constantFrom<QueueLane>("new", "woken", "recovered"),
  runAfter: fc.nat({ max: 20 }),
});
const arbitraryTasks = fc
  .array(arbitraryTask, { minLength: 1, maxLength: 60, size: "max" })
  .map((all) => all.map(({ tool, principal, lane, runAfter }) => ready(tool, principal, lane, runAfter)));
const arbitraryHandlers = fc
  .tuple(...tools.map((tool) => fc.record({ tool: fc.constant(tool), priority: fc.constantFrom(0, 0, 1) })))
  .map((all) => all.map(({ tool, priority }) => ({ ...handler(tool), priority })));

const runs = { numRuns: fullForm ? 500 : 100 };

describe("whatever is ready", () => {
  test("claims of one take what one big claim takes, and in the same order", () => {
    const concurrency = fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined });
    fc.assert(
      fc.property(
        arbitraryTasks,
        arbitraryHandlers,
        fc.tuple(concurrency, concurrency),
        fc.nat(9),
        (tasks, plain, limits, page) => {
          const handlers = plain.map((each, index) => {
            const limit = limits[index];
            return limit === undefined ? each : { ...each, concurrency: limit };
          });
          const whole = takeFairly(linesOf(tasks), { handlers, turns: noTurns, limit: 99 }, () => 0);
          let turns: Turns = noTurns;
          const claimed: Ready[] = [];
          for (;;) {
            const left = tasks.filter((task) => !claimed.includes(task));
            const running = ({ tool }: { tool: string }) =>
              claimed.filter((task) => task.handler.tool === tool).length;
            const taken = takeFairly(linesOf(left), { handlers, turns, limit: page + 1 }, running);
            if (taken.tasks.length === 0) break;
            claimed.push(...taken.tasks);
            turns = taken.turns;
          }
          expect(claimed).toEqual(whole.tasks);
          for (const each of handlers) {
            const ran = claimed.filter((task) => task.handler.tool === each.tool).length;
            const there = tasks.filter((task) => task.handler.tool === each.tool).length;
            expect(ran).toBe(Math.min(there, "concurrency" in each ? Number(each.concurrency) : Infinity));
          }
        },
      ),
      runs,
    );
  });

  test("a handler of a higher priority leaves nothing for later", () => {
    fc.assert(
      fc.property(arbitraryTasks, arbitraryHandlers, (tasks, handlers) => {
        const priorityOf = ({ handler: { tool } }: Ready) =>
          handlers.find((each) => each.tool === tool)?.priority ?? 0;
        const order = claimAll(tasks, handlers).map(priorityOf);
        expect(order).toEqual(order.toSorted((a, b) => b - a));
        expect(order).toHaveLength(tasks.length);
      }),
      runs,
    );
  });

  test("nobody has a second turn before all others had one who have something", () => {
    fc.assert(
      fc.property(arbitraryTasks, (tasks) => {
        const order = claimAll(tasks, tools.map(handler));
        for (const [index, task] of order.entries()) {
          const again = order.findIndex((other, at) => at > index && other.principal === task.principal);
          if (again === -1) continue;
          const between = new Set(names(order.slice(index + 1, again)));
          for (const { principal } of order.slice(again)) {
            if (principal !== task.principal) expect(between).toContain(principal);
          }
        }
      }),
      runs,
    );
  });

  test("every third turn of a principal is for each lane in which it has something", () => {
    fc.assert(
      fc.property(arbitraryTasks, (tasks) => {
        const order = claimAll(tasks, tools.map(handler));
        for (const principal of new Set(names(order))) {
          const own = lanes(order.filter((task) => task.principal === principal));
          for (let at = 0; at + 3 <= own.length; at++) {
            const later = own.slice(at + 3);
            for (const lane of later) expect(own.slice(at, at + 3)).toContain(lane);
          }
        }
      }),
      runs,
    );
  });

  test("a principal gets its tasks of a lane in the order of their time", () => {
    fc.assert(
      fc.property(arbitraryTasks, (tasks) => {
        const order = claimAll(tasks, tools.map(handler), 7);
        for (const { principal, lane } of tasks) {
          const own = order.filter((task) => task.principal === principal && task.lane === lane);
          const byTime = own.toSorted((a, b) => a.runAfter - b.runAfter || (a.id < b.id ? -1 : 1));
          expect(own).toEqual(byTime);
        }
      }),
      runs,
    );
  });

  test("who comes to a handler with a limit waits for no one twice, whatever room there is and whenever", () => {
    const rooms = fc.infiniteStream(fc.boolean());
    fc.assert(
      fc.property(arbitraryTasks, rooms, (tasks, hasRoom) => {
        const handlers = [...tools.slice(1).map(handler), { ...handler("x"), concurrency: 1 }];
        let turns: Turns = noTurns;
        let left = tasks;
        const seen: Ready[] = [];
        for (const room of hasRoom) {
          const taken = takeFairly(linesOf(left), { handlers, turns, limit: 1 }, () => (room ? 0 : 1));
          seen.push(...taken.tasks);
          left = left.filter((task) => !taken.tasks.includes(task));
          turns = taken.turns;
          if (left.length === 0 || (room && taken.tasks.length === 0)) break;
        }
        expect(left).toEqual([]);
        const only = seen.filter((task) => task.handler.tool === "x" && hasOnly(tasks, task.principal, "x"));
        for (const [index, task] of only.entries()) {
          const again = only.findIndex((other, at) => at > index && other.principal === task.principal);
          if (again === -1) continue;
          const between = new Set(names(only.slice(index + 1, again)));
          for (const { principal } of only.slice(again)) {
            if (principal !== task.principal) expect(between).toContain(principal);
          }
        }
      }),
      runs,
    );
  });
});

function hasOnly(tasks: readonly Ready[], principal: string, tool: string): boolean {
  return tasks.every((task) => task.principal !== principal || task.handler.tool === tool);
}
