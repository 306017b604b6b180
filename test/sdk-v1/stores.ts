import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openTasks, type SdkV1Tasks } from "../../src/sdk-v1/open-tasks.ts";
import type { SdkV1Options } from "../../src/sdk-v1/options.ts";
import type { Clock } from "../../src/runtime/clock.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { TaskStore } from "../../src/store/store.ts";

export type StoreName = "memory" | "sqlite";
export const storeNames: readonly StoreName[] = ["memory", "sqlite"];

/** A new folder, gone with the test. */
export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-sdk-v1-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function newStore(name: StoreName): Promise<TaskStore> {
  return name === "memory" ? memoryStore() : sqliteStore(join(await newFolder(), "tasks.db"));
}

/** Tasks of SDK v1 on a new store, or on the one that is given; closed with the test. */
export async function openDurable(
  name: StoreName,
  options: Partial<SdkV1Options> = {},
  clock?: Clock,
): Promise<SdkV1Tasks> {
  const store = options.store ?? (await newStore(name));
  const durable = await openTasks({ ...options, store }, clock);
  onTestFinished(() => durable.close());
  return durable;
}
