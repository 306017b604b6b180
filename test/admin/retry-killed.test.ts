import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ann, call, kinds, serve, somePlace } from "../cli/admin/some-place.ts";
import { started } from "./killable-server.ts";

const patience = { timeout: 60_000, interval: 20 };

test.each(kinds)(
  "a retry of a task whose called tasks failed charges no order again, though its server is killed, on %s",
  { timeout: 120_000 },
  async (kind) => {
    const place = await somePlace(kind);
    const payments = join(place.cwd, "payments.txt");
    const charged: string[] = [];
    const runtime = await serve(place, (tools) => {
      tools.add("order", {}, async ({ order }, task) => {
        await task.step("charge", ({ idempotencyKey }) =>
          charged.push(`${String(order)} ${idempotencyKey}\n`),
        );
        await task.step("receipt", () => Promise.reject(new Error("mail template missing")));
        return { content: [] };
      });
      tools.add("shop", {}, async (_args, task) => {
        const buy = (order: number) => task.call(["buy", order], "order", { order });
        const ends = await Promise.allSettled([1, 2, 3].map(buy));
        for (const end of ends) if (end.status === "rejected") throw end.reason;
        return { content: [] };
      });
    });
    const id = await call(runtime, "shop");
    await expect.poll(async () => (await runtime.get(id, ann)).task.state, patience).toBe("settled");
    await runtime.stop();
    await writeFile(payments, charged.join(""));

    const stalling = await started(place, payments, "stall");
    const again = await stalling.admin.as("ann").retry(id);
    const stalled = [await stalling.line(), await stalling.line(), await stalling.line()];
    expect(stalled.toSorted()).toEqual(["1", "2", "3"]);
    await stalling.kill();

    const server = await started(place, payments);
    await expect.poll(async () => (await server.admin.show(again.id)).state, patience).toBe("completed");
    expect(await readFile(payments, "utf8")).toBe(charged.join(""));
    await server.kill();
  },
);
