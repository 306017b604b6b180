import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { call, kinds, somePlace, type Place } from "../cli/admin/some-place.ts";
import { started } from "./killable-server.ts";
import { fullForm } from "../full-form.ts";

const orders = fullForm ? 25_000 : 1_500;
const minutes = 60_000 * (fullForm ? 20 : 2);
const unlimited = {
  maxUnfinished: null,
  maxUnfinishedPerPrincipal: null,
  maxRetained: null,
  maxRetainedPerPrincipal: null,
};

/** Orders that were charged, or nobody knows whether they were, and then failed. What was sent to the payment service is in the file. */
async function failedOrders(place: Place, payments: string): Promise<void> {
  const sent: string[] = [];
  const registry = new Registry();
  registry.add("order", {}, async ({ order }, task) => {
    await task.step("charge", ({ idempotencyKey }) => {
      sent.push(`${String(order)} ${idempotencyKey}\n`);
      if (Number(order) % 3 === 0) throw new Error("no answer");
    });
    await task.step("receipt", () => Promise.reject(new Error("mail template missing")));
    return { content: [] };
  });
  const runtime = createRuntime({ store: place.store(), registry, options: unlimited });
  await runtime.start();
  onTestFinished(() => runtime.stop());
  for (let from = 0; from < orders; from += 500)
    await Promise.all(Array.from({ length: 500 }, (_, n) => call(runtime, "order", { order: from + n })));
  const store = runtime.store;
  await expect.poll(async () => (await store.unfinished("", 1)).length, { timeout: minutes }).toBe(0);
  await runtime.stop();
  await writeFile(payments, sent.join(""));
}

test.each(kinds)(
  "a bulk retry whose server is killed twice runs each task again once, and charges each order once, on %s",
  { timeout: minutes * 2 },
  async (kind) => {
    const place = await somePlace(kind);
    const payments = join(place.cwd, "payments.txt");
    await failedOrders(place, payments);
    const failed = { tool: "order", states: ["failed" as const] };

    let server = await started(place, payments);
    const { job } = await server.admin.as("ann").bulk("retry", failed, { dryRun: true });
    expect((await server.admin.bulkJob(job)).counts).toMatchObject({ total: orders, open: orders });
    const acted = server.admin.as("ann").bulk("retry", failed, { job });
    acted.catch(() => undefined); // its server is killed
    for (const part of [0.2, 0.6]) {
      const done = async (): Promise<number> => (await server.admin.bulkJob(job)).counts.done;
      await expect.poll(done, { timeout: minutes, interval: 20 }).toBeGreaterThan(orders * part);
      await server.kill();
      server = await started(place, payments);
    }
    const { admin } = server;
    await expect
      .poll(async () => (await admin.bulkJob(job)).state, { timeout: minutes, interval: 200 })
      .toBe("done");
    expect((await admin.bulkJob(job)).refused).toEqual([]);
    expect((await admin.bulkJob(job)).counts).toEqual({ total: orders, open: 0, done: orders, refused: 0 });
    const counted = async (): Promise<unknown> => (await admin.counts()).tools[0];
    // Above a number, Postgres estimates.
    const { most } = await admin.counts();
    const all: unknown = orders < most ? orders : expect.toSatisfy((count: number) => count >= most);
    await expect
      .poll(counted, { timeout: minutes, interval: 500 })
      .toMatchObject({ completed: all, failed: all, queued: 0, running: 0 });

    const actions = await admin.actions();
    expect(actions).toMatchObject([
      {
        actor: "ann",
        action: "retry",
        taskId: null,
        detail: { job, selection: failed, total: orders, done: orders },
      },
    ]);
    const keys = new Map<string, Set<string>>();
    for (const line of (await readFile(payments, "utf8")).trim().split("\n")) {
      const [order = "", key = ""] = line.split(" ");
      keys.set(order, (keys.get(order) ?? new Set()).add(key));
    }
    expect([keys.size, Math.max(...[...keys.values()].map(({ size }) => size))]).toEqual([orders, 1]);
    expect(await admin.as("ann").bulk("retry", failed)).toMatchObject({ done: [], created: [], refused: [] });
    await server.kill();
  },
);
