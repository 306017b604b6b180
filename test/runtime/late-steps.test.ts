import { expect, it } from "vitest";
import type { TaskStore } from "../../src/store/store.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";

/** Fails a step once the handler has returned, which did not wait for it. */
function leaving(gate: Promise<void>, options = {}): Handler {
  return async (_, task) => {
    void task.step("send mail", options, async () => {
      await gate;
      throw new Error("SMTP down");
    });
    await task.step("note", () => "noted");
    return text("mail sent");
  };
}

const told = {
  code: "step_not_awaited",
  message: expect.stringMatching(
    /^Step "send mail" of task .* after its handler had returned: SMTP down\./,
  ) as string,
  cause: expect.objectContaining({ message: "SMTP down" }) as Error,
};

async function calm(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await rest();
}

it.each([{}, { retries: 3 }])(
  "tells onError of a step that fails after its handler has returned, once, with %o",
  async (options) => {
    const gate = Promise.withResolvers<void>();
    const process = await Process.started({ tools: { order: leaving(gate.promise, options) } });
    const id = await process.callId("order");
    expect(bodyOf(await process.ended(id))).toEqual(text("mail sent"));
    expect(process.errors).toEqual([]);
    gate.resolve();
    await calm();
    expect(process.errors).toEqual([expect.objectContaining(told)]);
    expect(bodyOf(await process.get(id))).toEqual(text("mail sent"));
  },
);

it("tells it of a call that was answered directly, too", async () => {
  const gate = Promise.withResolvers<void>();
  const process = await Process.started({ tools: { order: leaving(gate.promise) } });
  expect(JSON.parse((await process.runInline("order")).body)).toEqual(text("mail sent"));
  gate.resolve();
  await calm();
  expect(process.errors).toEqual([expect.objectContaining(told)]);
});

it("tells it of a step that its handler started and did not let begin, of a task and of a call that was answered directly", async () => {
  let runs = 0;
  const order: Handler = async (_, task) => {
    void task.step("send mail", () => runs++);
    return text("mail sent");
  };
  const process = await Process.started({ tools: { order } });
  const id = await process.callId("order");
  expect(bodyOf(await process.ended(id))).toEqual(text("mail sent"));
  await calm();
  const never = expect.objectContaining({
    code: "step_not_awaited",
    message: expect.stringMatching(
      /^Step "send mail" of task .* did not run: its handler had returned/,
    ) as string,
  }) as unknown;
  expect(process.errors).toEqual([never]);
  await process.runInline("order");
  await calm();
  expect([runs, process.errors.length]).toEqual([0, 2]);
});

it.each<[string, Handler]>([
  [
    'A call of tool "order" of task .* did not run',
    async (_, task) => {
      await task.step("note", () => "noted");
      void task.call("order", "order", {});
      return text("ordered");
    },
  ],
  [
    'A call of tool "order" of task .* did not run',
    async (_, task) => {
      void task.all("orders", [{ tool: "order", arguments: {} }]);
      return text("ordered");
    },
  ],
  [
    'Artifact "bill" of task .* was not stored',
    async (_, task) => {
      void task.artifact("bill", "12 EUR");
      return text("ordered");
    },
  ],
])("tells it too that %s, and nothing of a sleep", async (message, handler) => {
  let orders = 0;
  const order: Handler = () => text(`order ${++orders}`);
  const leaves: Handler = (args, task) => {
    void task.sleep("nap", 1_000);
    return handler(args, task);
  };
  const process = await Process.started({ tools: { order, leaves } });
  const id = await process.callId("leaves");
  expect(bodyOf(await process.ended(id))).toEqual(text("ordered"));
  await calm();
  const lost = { code: "step_not_awaited", message: expect.stringMatching(`^${message}`) as string };
  expect([orders, process.errors]).toEqual([0, [expect.objectContaining(lost)]]);
});

it("tells nothing of one that a failure, or the end of a race, has left behind", async () => {
  const fails: Handler = (_, task) => {
    void task.step("left", () => 1);
    throw new Error("no");
  };
  const races: Handler = async (_, task) =>
    text(await Promise.race([task.step("first", () => "first"), task.step("second", () => "second")]));
  const process = await Process.started({ tools: { fails, races } });
  for (const tool of ["fails", "races"]) await process.ended(await process.callId(tool));
  await calm();
  expect(process.errors).toEqual([]);
});

it("tells nothing of a step that fails because its task was cancelled, or where the handler hears of it", async () => {
  const waits: Handler = (_, task) =>
    task.step("wait", ({ signal }) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => reject(signal.reason as Error));
      return promise;
    });
  const fails: Handler = async (_, task) => {
    await task.step("fail", () => Promise.reject(new Error("no")));
    return text("never");
  };
  const process = await Process.started({ tools: { waits, fails } });
  await process.ended(await process.callId("fails"));
  const id = await process.callId("waits");
  await rest();
  await process.cancel(id);
  await process.ended(id);
  await calm();
  expect(process.errors).toEqual([]);
});

/** A process hears of what it has written before its write is answered. */
function slowToAnswer(inner: TaskStore): TaskStore {
  return new Proxy(inner, {
    get: (target, name: keyof TaskStore) => {
      const member: unknown = target[name];
      if (typeof member !== "function") return member;
      if (name !== "write") return member.bind(target) as unknown;
      return async (command: TaskCommand) => {
        const result = await target.write(command);
        await rest();
        return result;
      };
    },
  });
}

it("nothing of a handler that has returned tries a step again, or reports", async () => {
  let tries = 0;
  const attempts = Promise.withResolvers<void>();
  const order: Handler = async (_, task) => {
    const mail = task.step("mail", { retries: 3, backoff: { firstMs: 1_000, maxMs: 1_000 } }, async () => {
      tries++;
      throw new Error("SMTP down");
    });
    mail
      .catch(async () => {
        await task.log("info", "The mail was not sent.");
      })
      .then(attempts.resolve, attempts.resolve);
    await task.sleep("pause", 500);
    return text("ordered");
  };
  const process = new Process({ tools: { order } }, new FakeClock(), new CrashableStore(slowToAnswer));
  await process.runtime.start();
  const id = await process.callId("order");
  for (const key of ["mail", "pause"]) await process.journalHas(id, key);
  await calm();
  await process.clock.advance(500);
  await process.ended(id);
  await process.clock.advance(10_000);
  await attempts.promise;
  expect(tries).toBe(1);
  expect(await process.store.logs?.read(id, "log", 0, 10)).toEqual([]);
});

it.each<[string, (task: TaskContext) => Promise<unknown>, string]>([
  [
    "a step without a function",
    async (task) => task.step("send mail", undefined as never),
    'task.step needs a key and a function: task.step("query", () => …).',
  ],
  [
    "a step with its options last",
    async (task) => task.step("send mail", ...([() => "sent", { retries: 3 }] as unknown as [() => string])),
    'task.step takes its options before its function: task.step("query", { retries: 3 }, () => …).',
  ],
  [
    "a sleep without a key",
    async (task) => task.sleep(...([1_000] as unknown as ["pause", number])),
    'task.sleep needs a key and a length of time, or a date: task.sleep("pause", "15m").',
  ],
])("says the right form of %s", async (_what, act, said) => {
  const order: Handler = async (_, task) => text(await act(task).then(() => "no error", String));
  const process = await Process.started({ tools: { order } });
  expect(bodyOf(await process.ended(await process.callId("order")))).toEqual(text(`TypeError: ${said}`));
});
