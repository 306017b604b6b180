import { readSecret, secretNames } from "../runtime/secrets.ts";
import type { TaskStore } from "../store/store.ts";
import { HoldfastError } from "../task/fault.ts";
import { deliveriesKeptMs } from "../task/delivery.ts";

/** The number of deletions in one write. Servers can write in between. */
const atOnce = 200;

/** How many were deleted. */
export interface DeletedExpired {
  readonly tasks: number;
  readonly sessions: number;
  readonly deliveries: number;
}

/**
 * Deletes expired finished tasks, sessions, webhook messages and versions of secrets, as servers do. Includes messages for webhooks that no
 * server has any more.
 */
export async function deleteExpired(store: TaskStore, now: number): Promise<DeletedExpired> {
  const tasks = await repeated(async () => {
    const { deleted } = await store.write<"delete_expired">({ type: "delete_expired", now, limit: atOnce });
    return deleted.length;
  });
  for (let isLeft = true; isLeft;) isLeft = (await store.pieces?.deleteLeft?.()) ?? false;
  const sessions = await repeated(async () => (await store.sessions?.deleteExpired(now, atOnce)) ?? 0);
  const deliveries = store.outbox === undefined ? 0 : await repeated(() => dropDeliveries(store, now));
  await deleteVersions(store, now);
  return { tasks, sessions, deliveries };
}

/** An operator without the keys of an encrypted store leaves that to its servers. */
async function deleteVersions(store: TaskStore, now: number): Promise<void> {
  try {
    for (const name of secretNames) await readSecret(store, name, now);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "configuration") throw error;
  }
}

async function dropDeliveries(store: TaskStore, now: number): Promise<number> {
  const old = { most: Number.MAX_SAFE_INTEGER, before: now - deliveriesKeptMs, limit: atOnce };
  const { dropped } = await store.write<"trim_deliveries">({ type: "trim_deliveries", now, ...old });
  return dropped;
}

async function repeated(deleteSome: () => Promise<number>): Promise<number> {
  for (let sum = 0; ;) {
    const count = await deleteSome();
    sum += count;
    if (count < atOnce) return sum;
  }
}
