import { describe, expect, it } from "vitest";
import { bodyOf, Process, text, type Handler } from "./harness.ts";
import type { BeforeCall } from "./watched-store.ts";

const never = new Promise<never>(() => undefined);

it.each(["with a task", "without one"])(
  "a handler %s that is refused for ever lets others run",
  async (how) => {
    const tool: Handler = async (_, task) => {
      let hasRun = false;
      setImmediate(() => (hasRun = true));
      let refused = 0;
      while (!hasRun && refused < 10_000)
        await task.sleep("nap", new Date(Number.NaN)).catch(() => refused++);
      return text(refused < 10_000 ? "they run" : "they wait");
    };
    const process = await Process.started({ tools: { tool } });
    const outcome =
      how === "without one"
        ? await process.runInline("tool")
        : (await process.ended(await process.callId("tool"))).outcome;
    expect(JSON.parse(outcome?.body ?? "")).toEqual(text("they run"));
  },
);

describe("steps", () => {
  it.each([
    ["resume", ["create", "record_step", "record_step", "settle"]],
    ["auto", ["create", "mark", "record_step", "record_step", "settle"]],
  ] as const)(
    "of a tool with onCrash %s are marked before they begin only where that decides",
    async (onCrash, writes) => {
      const written: string[] = [];
      const before: BeforeCall = (call) => {
        if (["create", "mark", "record_step", "settle"].includes(call)) written.push(call);
      };
      const handler: Handler = async (_, task) => {
        await task.step("a", () => undefined);
        await task.step("b", () => undefined);
        return text("done");
      };
      const process = await Process.started({ tools: { work: { config: { onCrash }, handler } }, before });
      await process.ended(await process.callId("work"));
      expect(written).toEqual(writes);
    },
  );

  it("runs a committed step once, whatever happens after it", async () => {
    const runs: string[] = [];
    const tool =
      (hang: boolean): Handler =>
      async (_, task) => {
        const a = await task.step("a", () => runs.push("a"));
        const b = await task.step("b", () => runs.push("b"));
        if (hang) await never;
        return text(`${a} ${b} ${task.attempt}`);
      };
    const first = await Process.started({ tools: { work: tool(true) } });
    const id = await first.callId("work");
    await first.until(id, () => runs.length === 2);
    const second = await first.crash({ tools: { work: tool(false) } });
    expect(bodyOf(await second.ended(id))).toEqual(text("1 2 2"));
    expect(runs).toEqual(["a", "b"]);
  });

  it("runs a step that was under way at the crash again, with the same idempotency key", async () => {
    const keys: string[] = [];
    const tool =
      (hang: boolean): Handler =>
      async (_, task) => {
        await task.step(["send", 1], async ({ idempotencyKey }) => {
          keys.push(idempotencyKey);
          if (hang) await never;
        });
        return text("sent");
      };
    const first = await Process.started({ tools: { mail: tool(true) } });
    const id = await first.callId("mail");
    await first.until(id, () => keys.length === 1);
    const second = await first.crash({ tools: { mail: tool(false) } });
    await second.ended(id);
    expect(keys).toEqual([`${id}:["send",1]`, `${id}:["send",1]`]);
  });

  it("gives each of many parallel steps its own result back on replay", async () => {
    const items = Array.from({ length: 50 }, (_, index) => index);
    const tool =
      (hang: boolean): Handler =>
      async (_, task) => {
        const order = hang ? items : items.toReversed();
        const squares = await Promise.all(order.map((n) => task.step(["square", n], () => [n, n * n])));
        if (hang) await task.step("hang", () => never);
        return text(JSON.stringify(squares.toSorted(([a = 0], [b = 0]) => a - b)));
      };
    const first = await Process.started({ tools: { squares: tool(true) } });
    const id = await first.callId("squares");
    await first.until(id, ({ task }) => task.version > 51);
    const second = await first.crash({ tools: { squares: tool(false) } });
    expect(bodyOf(await second.ended(id))).toEqual(text(JSON.stringify(items.map((n) => [n, n * n]))));
  });

  it("replays a final error with its name, message and code, and does not run the step again", async () => {
    let runs = 0;
    const seen: unknown[] = [];
    const tool =
      (hang: boolean): Handler =>
      async (_, task) => {
        try {
          await task.step("read", () => {
            runs++;
            throw Object.assign(new RangeError("gone"), { code: "ENOENT" });
          });
        } catch (error) {
          const { name, message, code } = error as Error & { code: string };
          seen.push({ name, message, code });
        }
        if (hang) await task.step("hang", () => never);
        return text("ok");
      };
    const first = await Process.started({ tools: { reads: tool(true) } });
    const id = await first.callId("reads");
    await first.until(id, () => seen.length === 1);
    const second = await first.crash({ tools: { reads: tool(false) } });
    await second.ended(id);
    expect(runs).toBe(1);
    expect(seen).toEqual([
      { name: "RangeError", message: "gone", code: "ENOENT" },
      { name: "RangeError", message: "gone", code: "ENOENT" },
    ]);
  });

  it("returns the journalled value on the first run too, and nothing for a step that returns nothing", async () => {
    const process = await Process.started({
      tools: {
        values: async (_, task) => {
          const original = { a: 1 };
          const back = await task.step("object", () => original);
          const nothing: unknown = await task.step("nothing", () => undefined);
          return text(`${back === original} ${JSON.stringify(back)} ${String(nothing)}`);
        },
      },
    });
    expect(bodyOf(await process.ended(await process.callId("values")))).toEqual(
      text('false {"a":1} undefined'),
    );
  });

  it.each<[string, string, Handler]>([
    ["a key used twice", "was already used", (_, task) => twice(() => task.step("same", () => 1))],
    [
      "a key that is too long",
      "and 2000 are the most that a key may have",
      (_, task) => task.step("é".repeat(1_000), () => text("")),
    ],
    [
      "a step inside a step",
      "inside a step",
      async (_, task) => task.step("out", () => task.step("in", () => text(""))),
    ],
    [
      "a value that cannot be stored",
      'The result of step "call" cannot be stored: result.items[3].handler is a function.',
      (_, task) => task.step("call", () => ({ items: [0, 1, 2, { handler: () => 1 }] }) as never),
    ],
  ])("fails %s and says how to mend it", async (_, message, handler) => {
    const process = await Process.started({ tools: { wrong: handler } });
    const ended = await process.ended(await process.callId("wrong"));
    expect(bodyOf(ended)).toMatchObject({ code: -32603, message: expect.stringContaining(message) });
  });

  it("retries a step with growing pauses, and journals only the end", async () => {
    let runs = 0;
    const process = await Process.started({
      tools: {
        flaky: async (_, task) => {
          const got = await task.step("get", { retries: 2 }, () => {
            if (++runs < 3) throw new Error("busy");
            return runs;
          });
          return text(String(got));
        },
      },
    });
    const id = await process.callId("flaky");
    await process.clock.advance(1_000);
    await process.clock.advance(2_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("3"));
  });

  it("ends a step that takes longer than its timeout", async () => {
    const process = await Process.started({
      tools: {
        slow: async (_, task) => {
          await task.step(
            "wait",
            { timeoutMs: 500 },
            ({ signal }) =>
              new Promise((_resolve, reject) => {
                signal.addEventListener("abort", () => reject(signal.reason as Error));
              }),
          );
          return text("never");
        },
      },
    });
    const id = await process.callId("slow");
    await process.until(id, ({ task }) => task.journalled);
    await process.clock.advance(500);
    expect(bodyOf(await process.ended(id))).toMatchObject({
      isError: true,
      content: [{ text: 'Step "wait" took longer than 500 ms.' }],
    });
  });
});

async function twice(run: () => Promise<unknown>): Promise<never> {
  await run();
  await run();
  throw new Error("unreachable");
}
