import type { TaskStore } from "../store/store.ts";
import type { ActionBy } from "../task/record.ts";
import type { TaskActs } from "./act-on-task.ts";
import type { StoredDelivery } from "../task/delivery.ts";
import type { DeliveryPage, DeliveryQuery, Resent, ResendOptions, TaskDelivery } from "./task-parts.ts";
import { adminOf } from "./admin-store-of.ts";
import { invalid } from "./operation.ts";
import { newestTasks } from "./select-tasks.ts";

/** Messages to make due, and tasks to read, in one transaction. */
const page = 1_000;

/** Messages that are counted. */
const mostCounted = 10_000;

interface Resending {
  readonly webhook: string;
  readonly options: ResendOptions;
  /** Recorded once. */
  readonly by: () => { readonly now: number; readonly by: ActionBy };
  readonly now: () => number;
}

/**
 * Sends a webhook's messages again. What it has accepted is not stored any more: instead it is told how each task stands that changed in the
 * range, with the version by which it knows which message is newer.
 */
export async function resend(
  store: TaskStore,
  tasks: TaskActs,
  { webhook, options, by, now }: Resending,
): Promise<Resent> {
  const { messages, waiting = false, changedFrom, changedBefore, tool, dryRun = false } = options;
  if (messages !== undefined) {
    if (waiting || (changedFrom ?? changedBefore ?? tool) !== undefined)
      throw invalid("Give messages by their numbers, or say which to select, not both.");
    const seqs = await waitingOf(store, webhook, messages);
    const chosen = { type: "resend_deliveries", hook: webhook, limit: page, seqs } as const;
    if (!dryRun) await tasks.write<"resend_deliveries">({ ...chosen, ...by() });
    return { resent: seqs.length, delivered: 0 };
  }
  if (changedFrom === undefined && (changedBefore ?? tool) !== undefined)
    throw invalid("Give changedFrom: from when on the tasks changed whose messages were delivered.");
  const delivered = async (tell: (id: string) => Promise<boolean>): Promise<number> => {
    let told = 0;
    if (changedFrom === undefined) return told;
    for await (const ids of changedTasks(store, webhook, { ...options, changedFrom }))
      told += (await Promise.all(ids.map(tell))).filter(Boolean).length;
    return told;
  };
  if (dryRun) {
    const counts = (await store.outbox?.counts(mostCounted)) ?? [];
    const of = counts.find(({ hook }) => hook === webhook);
    const resent = (of?.givenUp ?? 0) + (waiting ? (of?.waiting ?? 0) : 0);
    return { resent, delivered: await delivered(() => Promise.resolve(true)) };
  }
  let resent = 0;
  const again = { type: "resend_deliveries", hook: webhook, limit: page } as const;
  for (const which of waiting ? ([{}, { waiting: true }] as const) : ([{}] as const))
    for (let found: number = page; found === page; resent += found) {
      const recorded = resent === 0 && !("waiting" in which) ? by() : { now: now() };
      found = (await tasks.write<"resend_deliveries">({ ...again, ...which, ...recorded })).resent;
    }
  const tell = async (id: string): Promise<boolean> => {
    const repeat = { type: "repeat_delivery", now: now(), id, hook: webhook } as const;
    const result = await tasks.write<"repeat_delivery">(repeat);
    return result.ok && result.repeated;
  };
  return { resent, delivered: await delivered(tell) };
}

/** Which of these messages the webhook has still not accepted. */
async function waitingOf(
  { outbox }: TaskStore,
  webhook: string,
  messages: readonly number[],
): Promise<readonly number[]> {
  const found = await Promise.all(
    [...new Set(messages)].map(async (seq) => {
      const [newest] = (await outbox?.before(seq + 1, 1)) ?? [];
      return newest?.seq === seq && newest.hook === webhook ? [seq] : [];
    }),
  );
  return found.flat();
}

/** A page of what webhooks have not accepted. Looks through so many messages at most. */
export async function deliveriesIn(
  { outbox }: TaskStore,
  { limit = 50, after = Number.MAX_SAFE_INTEGER, ...query }: DeliveryQuery,
): Promise<DeliveryPage> {
  const deliveries: TaskDelivery[] = [];
  let before = after;
  for (let looked = 0; looked < mostCounted; looked += page) {
    const found = (await outbox?.before(before, page)) ?? [];
    for (const each of found) {
      before = each.seq;
      if (matches(each, query) && deliveries.push(deliveryOf(each)) === limit)
        return { deliveries, next: before };
    }
    if (found.length === 0) return { deliveries, next: null };
  }
  return { deliveries, next: before };
}

function matches(
  { hook, dueAt, failedAt, tool, taskId, at }: StoredDelivery,
  query: Omit<DeliveryQuery, "limit" | "after">,
): boolean {
  const { webhook = hook, state, failed = false, changedFrom = 0, changedBefore = Infinity } = query;
  return (
    hook === webhook &&
    (state === undefined || (state === "given_up") === (dueAt === null)) &&
    (!failed || failedAt !== null) &&
    tool === (query.tool ?? tool) &&
    taskId === (query.taskId ?? taskId) &&
    at >= changedFrom &&
    at < changedBefore
  );
}

export function deliveryOf({ hook, dueAt, ...each }: StoredDelivery): TaskDelivery {
  const { seq, event, taskId, tool, at, tries, failedAt, problem } = each;
  return { seq, webhook: hook, event, taskId, tool, at, tries, nextAt: dueAt, failedAt, problem };
}

/** The ids of tasks of which the webhook is told and that changed in the range, newest first. */
async function* changedTasks(
  store: TaskStore,
  webhook: string,
  { changedFrom, changedBefore = Infinity, tool }: ResendOptions & { readonly changedFrom: number },
): AsyncGenerator<readonly string[]> {
  // Tasks that were created later have changed later, too.
  const selection = {
    ...(tool !== undefined && { tool }),
    ...(changedBefore !== Infinity && { createdBefore: changedBefore }),
  };
  for await (const tasks of newestTasks(adminOf(store), selection, Infinity))
    yield tasks
      .filter(({ updatedAt }) => updatedAt >= changedFrom && updatedAt < changedBefore)
      .filter(({ notifies = [] }) => notifies.includes(webhook))
      .map(({ id }) => id);
}
