import { expect, it } from "vitest";
import { bodyOf, Process, text, type Handler } from "../runtime/harness.ts";
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
