import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createTasks } from "../../src/index.ts";
import { sqliteStore } from "../../src/sqlite.ts";
import { HoldfastError } from "../../src/task/fault.ts";
import { Process, text } from "../runtime/harness.ts";
import { CollectedMetrics, type Point } from "./collected-metrics.ts";

const command = ({ attributes }: Point): string =>
  [attributes["holdfast.store.command"], attributes["holdfast.store.outcome"] ?? "committed"].join(" ");

it("times what is written, by the command and what it came to", async () => {
  const metrics = new CollectedMetrics();
  let fails = true;
  const process = await Process.started({
    telemetry: metrics.telemetry,
    tools: { ship: () => text("shipped") },
    before: (call) => {
      if (call !== "create" || !fails) return;
      fails = false;
      throw new HoldfastError("store_failed", "away");
    },
  });
  await expect(process.callId("ship")).rejects.toThrow("away");
  const id = await process.callId("ship");
  await process.ended(id);
  await process.runtime.store.write({ type: "cancel", now: process.clock.now(), id });
  await process.runtime.stop();
  const points = await metrics.points("holdfast.store.write.duration");
  expect(points.map(command)).toEqual(
    expect.arrayContaining(["create failed", "create committed", "settle committed", "cancel refused"]),
  );
  const created = points.find((point) => command(point) === "create committed");
  expect(created?.value).toMatchObject({ count: 1 });
});

it("has the sizes of groups, of a store that makes them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-metrics-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const metrics = new CollectedMetrics();
  const { telemetry } = metrics;
  const tasks = createTasks({ store: sqliteStore(join(folder, "tasks.db")), telemetry });
  await tasks.start();
  await tasks.stop();
  const written = await metrics.points("holdfast.store.write.duration");
  const [groups] = await metrics.points("holdfast.store.commit.size");
  const writes = written.reduce((sum, { value }) => sum + (typeof value === "number" ? 0 : value.count), 0);
  expect(writes).toBeGreaterThan(0);
  expect(groups?.value).toMatchObject({ sum: writes });
});
