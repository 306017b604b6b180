import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { fullForm } from "../full-form.ts";
import { rest } from "../../src/testing/clocks.ts";
import { Process, text, type Handler, type Setup } from "./harness.ts";

const many = fullForm ? 10_000 : 1_000;
const fewer = many / 5;
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const never: Handler = () => new Promise(() => undefined);

/** Handlers that run until they are let on, the first one first. */
class Runs {
  /** The tasks whose handlers began to work, in this order. */
  readonly begun: string[] = [];
  readonly #running: (() => void)[] = [];

  readonly works: Handler = async (_, task) => {
    this.begun.push(task.id);
    await new Promise<void>((resolve) => this.#running.push(resolve));
    return text("worked");
  };

  readonly asks: Handler = async (args, task) => {
    await task.elicit("q", question);
    return this.works(args, task);
  };

  async endOne(which: number): Promise<void> {
    this.#running.splice(which % Math.max(1, this.#running.length), 1)[0]?.();
    await rest();
  }

  /** How many others begin to work before the task does, where one works at a time. */
  async before(id: string): Promise<number> {
    const from = this.begun.length;
    for (let ends = 0; !this.begun.includes(id); ends++) {
      if (ends > 9) throw new Error(`${id} does not begin.`);
      this.#running.shift()?.();
      await rest();
    }
    return this.begun.indexOf(id) - from;
  }
}

function setup(tools: Setup["tools"], concurrency = 1, maxParkedFrames = many): Setup {
  const unlimited = {
    maxUnfinishedPerPrincipal: null,
    maxUnfinished: null,
    maxRetainedPerPrincipal: null,
    maxRetained: null,
  };
  return { tools, options: { ...unlimited, concurrency, maxParkedFrames } };
}

async function create(
  process: Process,
  count: number,
  principal: string | null,
  tool: string,
): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) ids.push(await process.callId(tool, { principal }));
  return ids;
}

describe("a task waits for no more than one run of another principal", () => {
  it("that has many tasks which are queued: at first for none", async () => {
    const runs = new Runs();
    const process = await Process.started(setup({ works: runs.works }));
    await create(process, many, "ann", "works");
    const [first = ""] = await create(process, 1, "bob", "works");
    expect(await runs.before(first)).toBe(0);
    for (const principal of ["aaron", null, "bob", "bob"]) {
      const [id = ""] = await create(process, 1, principal, "works");
      expect(await runs.before(id)).toBeLessThanOrEqual(1);
    }
  });

  it("that has many tasks which are to be recovered", async () => {
    const { runs, process } = await recovering("ann");
    const [id = ""] = await create(process, 1, "bob", "works");
    expect(await runs.before(id)).toBe(0);
  });

  it.each([
    ["many", "dropped", many, 0],
    ["a fifth as many", "kept", fewer, fewer],
  ])("that has %s tasks which were answered, and whose frames were %s", async (_, __, count, frames) => {
    const { runs, process } = await answered("ann", count, frames);
    const [id = ""] = await create(process, 1, "bob", "works");
    expect(await runs.before(id)).toBeLessThanOrEqual(1);
  });

  it("that has many of each kind", async () => {
    const { runs, process } = await answered("ann", fewer, fewer / 2);
    await create(process, fewer, "ann", "works");
    const [id = ""] = await create(process, 1, "bob", "works");
    expect(await runs.before(id)).toBeLessThanOrEqual(1);
  });
});

describe("where callers are not told apart, a new task waits for two others at most", () => {
  it("beside many that are to be recovered", async () => {
    const { runs, process } = await recovering(null);
    const [id = ""] = await create(process, 1, null, "works");
    expect(await runs.before(id)).toBeLessThanOrEqual(2);
  });

  it("beside many that were answered", async () => {
    const { runs, process } = await answered(null, fewer, 0);
    const [id = ""] = await create(process, 1, null, "works");
    expect(await runs.before(id)).toBeLessThanOrEqual(2);
  });
});

type Move = { readonly call: string } | { readonly end: number };
const arbitraryMove: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ call: fc.constantFrom("ann", "ann", "ann", "bob", "cy") }),
  fc.record({ end: fc.nat({ max: 9 }) }),
);

test("nobody has two turns while somebody else waits for one, whoever calls and whatever ends when", async () => {
  const property = fc.asyncProperty(
    fc.array(arbitraryMove, { minLength: 20, maxLength: 60, size: "max" }),
    fc.integer({ min: 1, max: 3 }),
    async (moves, concurrency) => {
      const runs = new Runs();
      const process = await Process.started(setup({ works: runs.works }, concurrency));
      const principals = new Map<string, string>();
      /** For each start, who waited before it. */
      const waited: ReadonlySet<string>[] = [];
      for (const move of moves) {
        if ("end" in move) await runs.endOne(move.end);
        else principals.set(await process.callId("works", { principal: move.call }), move.call);
        await rest();
        for (const place of runs.begun.keys()) {
          if (place < waited.length) continue;
          const left = [...principals].filter(([id]) => !runs.begun.slice(0, place).includes(id));
          waited.push(new Set(left.map(([, principal]) => principal)));
        }
      }
      const begun = runs.begun.map((id) => principals.get(id) ?? "");
      for (const [index, principal] of begun.entries()) {
        const again = begun.indexOf(principal, index + 1);
        if (again === -1) continue;
        const others = [...(waited[index] ?? [])].filter((other) => other !== principal);
        expect(others.filter((other) => !begun.slice(index + 1, again).includes(other))).toEqual([]);
      }
    },
  );
  await fc.assert(property, { numRuns: 100 });
});

/** A process that takes over many tasks that ran when another one died. */
async function recovering(principal: string | null) {
  const dying = await Process.started(setup({ works: never }, many));
  await create(dying, many, principal, "works");
  const runs = new Runs();
  const works = { config: { onCrash: "resume" as const }, handler: runs.works };
  const process = await dying.crash(setup({ works }));
  await rest();
  return { runs, process };
}

/** A process whose only slot is taken, with tasks that were answered meanwhile. */
async function answered(principal: string | null, count: number, maxParkedFrames: number) {
  const runs = new Runs();
  const process = await Process.started(setup({ works: runs.works, asks: runs.asks }, 1, maxParkedFrames));
  const requestor = { generation: "2026-07-28", principal } as const;
  const asking = await create(process, count, principal, "asks");
  for (const id of asking) await process.until(id, ({ inputs }) => inputs.length === 1, requestor);
  await rest();
  await create(process, 1, principal, "works");
  await rest();
  const answer = [{ key: "q", value: JSON.stringify({ action: "decline" }) }];
  for (const id of asking) await process.runtime.answer(id, requestor, answer);
  await rest();
  expect(runs.begun).toHaveLength(1);
  return { runs, process };
}
