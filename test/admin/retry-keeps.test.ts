import { expect, it } from "vitest";
import { isTerminal } from "../../src/task/outcome.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "../runtime/harness.ts";
import type { BeforeCall, StoreCall } from "../runtime/watched-store.ts";
import { adminOf } from "./operator.ts";

/** Two steps outside, whose keys and runs a service would see; the second one fails until it is mended. */
function order(): { readonly handler: Handler; readonly seen: string[]; readonly mend: () => void } {
  const seen: string[] = [];
  let isBroken = true;
  const handler: Handler = async (_args, task) => {
    await task.step("charge", ({ idempotencyKey }) => seen.push(`charge ${idempotencyKey}`));
    await task.step("receipt", ({ idempotencyKey }) => {
      seen.push(`receipt ${idempotencyKey}`);
      if (isBroken) throw new Error("mail template missing");
    });
    return text("sent");
  };
  return { handler, seen, mend: () => void (isBroken = false) };
}

it("goes on where a task failed, with its idempotency keys, also where the retry failed as well", async () => {
  const { handler, seen, mend } = order();
  const process = await Process.started({ tools: { order: handler } });
  const admin = adminOf(process);
  const ann = admin.as("ann");
  const id = await process.callId("order");
  await process.ended(id);
  const second = await ann.retry(id);
  await process.ended(second.id);
  mend();
  const third = await ann.retry(second.id);
  expect(bodyOf(await process.ended(third.id))).toEqual(text("sent"));
  expect(seen).toEqual([`charge ${id}:charge`, ...Array<string>(3).fill(`receipt ${id}:receipt`)]);
  expect(await admin.show(id)).toMatchObject({ retryOf: null, retriedAs: second.id });
  expect(await admin.show(second.id)).toMatchObject({ retryOf: id, retriedAs: third.id });
  expect(await admin.show(third.id)).toMatchObject({ retryOf: second.id, retriedAs: null });
});

it("runs a task again once, unless it is said what to repeat", async () => {
  const { handler, seen, mend } = order();
  const process = await Process.started({ tools: { order: handler } });
  const admin = adminOf(process);
  const ann = admin.as("ann");
  const id = await process.callId("order");
  await process.ended(id);
  mend();
  const [first, other] = await Promise.allSettled([ann.retry(id), ann.retry(id)]);
  const again = first.status === "fulfilled" ? first.value : undefined;
  expect(other).toMatchObject({
    reason: { code: "finished", message: expect.stringContaining(String(again?.id)) as string },
  });
  await expect(ann.retry(id)).rejects.toMatchObject({ code: "finished" });
  await process.ended(again?.id ?? "");
  expect(seen.filter((run) => run.startsWith("charge"))).toEqual([`charge ${id}:charge`]);
  seen.length = 0;
  const fresh = await ann.retry(id, { fromStart: true });
  await process.ended(fresh.id);
  expect(seen).toEqual([`charge ${fresh.id}:charge`, `receipt ${fresh.id}:receipt`]);
  expect(await admin.show(id)).toMatchObject({ retriedAs: fresh.id });
  await expect(ann.retry(id, { fromStart: true, keepUpTo: "charge" })).rejects.toMatchObject({
    code: "invalid_params",
  });
});

it("keeps no results for other arguments, but the idempotency keys", async () => {
  const { handler, seen, mend } = order();
  const process = await Process.started({ tools: { order: handler } });
  const id = await process.callId("order");
  await process.ended(id);
  mend();
  seen.length = 0;
  const other = await adminOf(process)
    .as("ann")
    .retry(id, { arguments: { to: "bob" } });
  await process.ended(other.id);
  expect(seen).toEqual([`charge ${id}:charge`, `receipt ${id}:receipt`]);
});

it("keeps what succeeded beside the step that failed, and after it", async () => {
  const runs: string[] = [];
  let isBroken = true;
  const transfer: Handler = async (_args, task) => {
    const pay = (to: string) => task.step(["pay", to], () => runs.push(to));
    await task
      .step("check", () => {
        runs.push("check");
        if (isBroken) throw new Error("no");
      })
      .catch(() => undefined);
    await Promise.all([pay("ann"), pay("bob")]);
    if (isBroken) throw new Error("not checked");
    return text("paid");
  };
  const process = await Process.started({ tools: { transfer } });
  const id = await process.callId("transfer");
  await process.ended(id);
  isBroken = false;
  runs.length = 0;
  const again = await adminOf(process).as("ann").retry(id);
  expect(bodyOf(await process.ended(again.id))).toEqual(text("paid"));
  expect(runs).toEqual(["check"]);
});

it("matches no tasks that were run again, unless asked for", async () => {
  const { handler, mend } = order();
  const process = await Process.started({ tools: { order: handler } });
  const admin = adminOf(process);
  const ids = [await process.callId("order"), await process.callId("order")].toSorted();
  for (const id of ids) await process.ended(id);
  mend();
  const again = await admin.as("ann").retry(ids[0] ?? "");
  await process.ended(again.id);
  const failed = { tool: "order", states: ["failed" as const] };
  const matched = async (retried?: boolean): Promise<readonly string[]> => {
    const selection = { ...failed, ...(retried !== undefined && { retried }) };
    return (await admin.as("ann").bulk("delete", selection, { dryRun: true })).done.toSorted();
  };
  expect([await matched(), await matched(true)]).toEqual([[ids[1]], [ids[0]]]);
  expect((await admin.list(failed)).tasks.map(({ id }) => id).toSorted()).toEqual(ids);
});

it("gives the steps of a called tool the keys that they had in the calling task before", async () => {
  const { handler, seen, mend } = order();
  const shop: Handler = async (_args, task) => {
    await task.call("first", "order");
    await task.call("second", "order");
    return text("done");
  };
  const process = await Process.started({ tools: { shop, order: handler } });
  const id = await process.callId("shop");
  await process.ended(id);
  mend();
  const again = await adminOf(process).as("ann").retry(id);
  expect(bodyOf(await process.ended(again.id))).toEqual(text("done"));
  const keysOf = (step: string): ReadonlySet<string> => new Set(seen.filter((run) => run.startsWith(step)));
  expect([keysOf("charge").size, keysOf("receipt").size]).toEqual([2, 2]);
});

it("stores the files of a task again, which are its own", async () => {
  let isBroken = true;
  let steps = 0;
  const setup = {
    tools: {
      export: (async (_args, task) => {
        const rows = await task.step("rows", () => `id\n${++steps}\n`);
        const file = await task.artifact("rows.csv", rows);
        await task.step("send", () => {
          if (isBroken) throw new Error("mail template missing");
        });
        return { content: [file] };
      }) satisfies Handler,
    },
  };
  const process = await Process.started(setup);
  const admin = adminOf(process);
  const id = await process.callId("export");
  await process.ended(id);
  isBroken = false;
  const again = await admin.as("ann").retry(id, { keepUpTo: "rows.csv" });
  const snapshot = await process.ended(again.id);
  expect(bodyOf(snapshot)).toMatchObject({ content: [{ uri: `task://${again.id}/artifact/rows.csv` }] });
  expect((await admin.show(again.id)).files).toMatchObject([{ name: "rows.csv", bytes: 5 }]);
  const { data } = await admin.artifact(again.id, "rows.csv");
  expect(Buffer.from(data, "base64").toString()).toBe("id\n1\n");
  expect(steps).toBe(1);
});

/** Tools that call each other down to the order, which fails until it is mended; the upper one may close. */
function mall(): ReturnType<typeof order> & {
  readonly tools: Readonly<Record<string, Handler>>;
  readonly open: (isOpen: boolean) => void;
} {
  const below = order();
  let isOpen = true;
  const tools: Readonly<Record<string, Handler>> = {
    order: below.handler,
    shop: async (_args, task) => {
      await task.step("enter", ({ idempotencyKey }) => below.seen.push(`enter ${idempotencyKey}`));
      return task.call("buy", "order", { item: 1 });
    },
    mall: async (_args, task) => {
      if (!isOpen) throw new Error("closed");
      return task.call("visit", "shop");
    },
  };
  return { ...below, tools, open: (is) => void (isOpen = is) };
}

const countOf = (seen: readonly string[], step: string): number =>
  seen.filter((run) => run.startsWith(step)).length;

it("goes on where a called task failed, however deep, also after a retry that did not come so far", async () => {
  const { tools, seen, mend, open } = mall();
  const process = await Process.started({ tools });
  const admin = adminOf(process);
  let id = await process.callId("mall");
  await process.ended(id);
  for (const isOpen of [true, false, true]) {
    open(isOpen);
    ({ id } = await admin.as("ann").retry(id));
    await process.ended(id);
  }
  mend();
  ({ id } = await admin.as("ann").retry(id));
  expect(bodyOf(await process.ended(id))).toEqual(text("sent"));
  expect([countOf(seen, "enter"), countOf(seen, "charge"), countOf(seen, "receipt")]).toEqual([1, 1, 4]);
  expect(new Set(seen).size).toBe(3);
});

it("repeats what called tasks did if it is said what to repeat", async () => {
  for (const options of [{ fromStart: true }, { arguments: { by: "bob" } }]) {
    const { tools, seen, mend } = mall();
    const process = await Process.started({ tools });
    const admin = adminOf(process);
    const id = await process.callId("mall");
    await process.ended(id);
    mend();
    const again = await admin.as("ann").retry(id, options);
    await process.ended(again.id);
    expect([countOf(seen, "enter"), countOf(seen, "charge"), countOf(seen, "receipt")]).toEqual([2, 2, 2]);
    expect(new Set(seen).size).toBe(options.fromStart === true ? 6 : 3);
  }
});

it("begins a call anew whose arguments are others than before", async () => {
  const { handler, seen, mend } = order();
  let item = 1;
  const shop: Handler = (_args, task) => task.call("buy", "order", { item });
  const process = await Process.started({ tools: { shop, order: handler } });
  const id = await process.callId("shop");
  await process.ended(id);
  mend();
  item = 2;
  const again = await adminOf(process).as("ann").retry(id);
  expect(bodyOf(await process.ended(again.id))).toEqual(text("sent"));
  expect([countOf(seen, "charge"), countOf(seen, "receipt")]).toEqual([2, 2]);
});

it("keeps what a called task did also where the tool that called it runs again by itself", async () => {
  const { handler, seen, mend } = order();
  const shop: Handler = async (_args, task) => {
    try {
      return await task.call("buy", "order");
    } finally {
      mend();
    }
  };
  const config = { retry: { attempts: 2, backoff: { firstMs: 1 } } };
  const process = await Process.started({ tools: { shop: { config, handler: shop }, order: handler } });
  const id = await process.callId("shop");
  await process.until(id, ({ task }) => task.failures === 1 && task.state === "queued");
  await process.clock.advance(1_000);
  expect(bodyOf(await process.ended(id))).toEqual(text("sent"));
  expect([countOf(seen, "charge"), countOf(seen, "receipt")]).toEqual([1, 2]);
});

it("repeats nothing that called tasks did, wherever the process dies after the retry", async () => {
  const writes: ReadonlySet<StoreCall> = new Set([
    "claim",
    "start",
    "mark",
    "call_tool",
    "record_step",
    "settle",
  ]);
  let dies = true;
  for (let nth = 1; dies; nth++) {
    const { tools, seen, mend } = mall();
    const config = { onCrash: "resume" } as const;
    const setup: Setup = {
      tools: Object.fromEntries(Object.entries(tools).map(([name, handler]) => [name, { config, handler }])),
      options: { crashBackoffMs: 1 },
    };
    let count = -Infinity;
    const died = Promise.withResolvers<undefined>();
    dies = false;
    const before: BeforeCall = async (call, about) => {
      if (about !== undefined && writes.has(call) && !dies) dies = ++count === nth;
      if (!dies) return;
      died.resolve(undefined);
      await new Promise(() => undefined);
    };
    let process = await Process.started({ ...setup, before });
    const id = await process.callId("mall");
    await process.ended(id);
    mend();
    count = 0;
    const again = await adminOf(process).as("ann").retry(id);
    await Promise.race([process.ended(again.id).catch(() => undefined), died.promise]);
    if (dies) process = await process.crash(setup);
    for (let turn = 0; turn < 6; turn++) await rest();
    await process.clock.advance(1_000);
    expect(bodyOf(await process.ended(again.id))).toEqual(text("sent"));
    expect([nth, countOf(seen, "enter"), countOf(seen, "charge")]).toEqual([nth, 1, 1]);
  }
});

it("keeps what a called task did that was cancelled because another one failed", async () => {
  const runs: string[] = [];
  let isBroken = true;
  const tools: Readonly<Record<string, Handler>> = {
    slow: async (_args, task) => {
      await task.step("charge", () => runs.push("charge"));
      await task.sleep("settle", 60_000);
      return text(await task.step("receipt", () => "sent"));
    },
    fails: async (_args, task) => {
      await task.sleep("soon", 1_000);
      if (isBroken) throw new Error("no");
      return text("fine");
    },
    shop: async (_args, task) => {
      await Promise.all([task.call("slow", "slow"), task.call("fails", "fails")]);
      return text("done");
    },
  };
  const process = await Process.started({ tools });
  const admin = adminOf(process);
  const id = await process.callId("shop");
  await process.until(id, ({ task }) => task.openWaits === 2 && runs.length === 1);
  await process.clock.advance(2_000);
  await process.ended(id);
  await process.clock.advance(60_000);
  expect((await admin.show(id)).children.map(({ state }) => state).toSorted()).toEqual([
    "cancelled",
    "failed",
  ]);
  isBroken = false;
  const again = await admin.as("ann").retry(id);
  const hasEnded = async (): Promise<boolean> => isTerminal((await process.get(again.id)).task.state);
  for (let minute = 0; minute < 50 && !(await hasEnded()); minute++) await process.clock.advance(60_000);
  expect(bodyOf(await process.ended(again.id))).toEqual(text("done"));
  expect(runs).toEqual(["charge"]);
});
