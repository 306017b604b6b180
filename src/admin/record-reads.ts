import { createHash, createHmac, randomBytes } from "node:crypto";
import { nextTurn } from "../runtime/wait-for.ts";
import { personKeys } from "../store/secrets.ts";
import type { TaskStore } from "../store/store.ts";
import type { StoredAction } from "../task/record.ts";
import { HoldfastError } from "../task/fault.ts";
import type { TaskPage, AdminAction } from "./admin.ts";
import { adminOf } from "./admin-store-of.ts";
import { call, type Input, methodsOf, type Operation } from "./operation.ts";
import { type Admin, type AdminReads, reads } from "./operations.ts";
import type { BulkTask } from "../task/bulk.ts";
import { shownJob } from "./bulk.ts";
import { parsed } from "./select-tasks.ts";

// That an operator saw data of a caller is recorded, once per operator, caller, hour and process. The record outlives the caller's data, so a
// hash with a key stands for the caller, and an erasure destroys the key: from then on, nobody can say whose data it was. Each caller of whom
// anything is recorded has a key of its own, a secret of the store. What is read after an erasure gets a new key, and is recorded again.

interface PersonServices {
  readonly store: TaskStore;
  readonly now: () => number;
}

/** The name of the secret with the key of a caller. */
function keyNameOf(principal: string): string {
  return `${personKeys}${createHash("sha256").update(principal).digest("hex").slice(0, 32)}`;
}

/** The key of a caller, as stored; null if there is none yet, unless a value makes it. */
async function keptKey(
  { store, now }: PersonServices,
  principal: string,
  value: string | null,
): Promise<string | null> {
  const command = { type: "keep_secret", now: now(), name: keyNameOf(principal), value } as const;
  return (await store.write<"keep_secret">(command)).value;
}

/** What stands for a caller in records of actions; null if none has been made, and in an encrypted store without its keys. */
export async function personOf(
  services: PersonServices,
  principal: string,
  value: string | null = null,
): Promise<string | null> {
  try {
    const key = await keptKey(services, principal, value);
    return key && createHmac("sha256", key).update(principal).digest("hex").slice(0, 32);
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "configuration") return null;
    throw error;
  }
}

/** The same, for a record that is made now. */
export function personNow(services: PersonServices, principal: string): Promise<string | null> {
  return personOf(services, principal, randomBytes(16).toString("base64url"));
}

/** Destroys the key of what stands for a caller. Resolves with false if the store is encrypted and its keys are not here. */
export async function forgetPerson(services: PersonServices, principal: string): Promise<boolean> {
  const { store, now } = services;
  try {
    for (;;) {
      const before = await keptKey(services, principal, null);
      if (before === null) return true;
      const command = { type: "replace_secret", name: keyNameOf(principal), before, value: null } as const;
      if ((await store.write<"replace_secret">({ ...command, now: now() })).replaced) return true;
    }
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "configuration") return false;
    throw error;
  }
}

const page = 1_000;

/** What was recorded of a caller's data: reads, exports and erasures, newest first. */
export async function actionsAbout(
  services: PersonServices,
  principal: string,
  before: number | null,
  limit: number,
): Promise<readonly StoredAction[]> {
  const person = await personOf(services, principal);
  const found: StoredAction[] = [];
  for (let last = before; person !== null && found.length < limit; await nextTurn()) {
    const read = await adminOf(services.store).actions(null, last, page);
    found.push(...read.filter(({ detail }) => detail?.includes(`"person":"${person}"`)));
    if (read.length < page) break;
    last = read.at(-1)?.seq ?? null;
  }
  return found.slice(0, limit);
}

const hourMs = 3_600_000;

/** Operators and callers that are remembered, so that an hour of many of both takes no more memory. */
const mostKnown = 10_000;

/** Records whose data operators of one process read. */
export class ReadRecords {
  readonly #services: PersonServices;
  /** By operator and what stands for the caller, what has recorded a read, or is about to. */
  readonly #known = new Map<string, Promise<void>>();
  #hour = 0;

  constructor(services: PersonServices) {
    this.#services = services;
  }

  async add(actor: string, operation: Operation, input: Input, answer: unknown): Promise<void> {
    const principal = await this.#principalOf(operation, input, answer);
    if (principal === undefined) return;
    const person = await personNow(this.#services, principal);
    const hour = Math.floor(this.#services.now() / hourMs);
    if (hour !== this.#hour || this.#known.size >= mostKnown) this.#known.clear();
    this.#hour = hour;
    const read = JSON.stringify([actor, person ?? principal]);
    const recorded =
      this.#known.get(read) ??
      recordAction({ ...this.#services, actor }, "read", { person, by: operation.name });
    this.#known.set(read, recorded);
    try {
      await recorded;
    } catch (error) {
      this.#known.delete(read);
      throw error;
    }
  }

  /** Undefined for what is about no caller, or shows nothing of one. */
  async #principalOf({ shows }: Operation, input: Input, answer: unknown): Promise<string | undefined> {
    const { id, principal } = input;
    if (shows === "task") return (await this.#services.store.get(String(id)))?.principal ?? undefined;
    const isCaller = typeof principal === "string" && (answer as TaskPage).tasks.length > 0;
    return isCaller ? principal : undefined;
  }
}

const ofAdmins = new WeakMap<object, ReadRecords>();

export function keepReadRecords(admin: object, records: ReadRecords): void {
  ofAdmins.set(admin, records);
}

/**
 * What an operator reads: recorded before it is shown. A store that does not take the record, such as one on a full disk, keeps nobody from
 * seeing what is wrong: `onError` is told. A remote store's endpoint records.
 */
export function readsAs(admin: Admin, actor: string, onError: (error: unknown) => void): AdminReads {
  const records = ofAdmins.get(admin);
  if (records === undefined) return admin;
  const recorded = async (operation: Operation, input: Input): Promise<unknown> => {
    const answer = await call(admin, operation, input);
    await records.add(actor, operation, input, answer).catch(onError);
    return answer;
  };
  return methodsOf<AdminReads>(reads, (operation, input, signal) =>
    operation.shows === undefined ? call(admin, operation, input, signal) : recorded(operation, input),
  );
}

export interface RecordServices {
  readonly store: TaskStore;
  readonly now: () => number;
  /** The operator's name. */
  readonly actor: string;
}

/**
 * Records what an operator does that changes no task here: an erasure, which deletes rows beside the store, an export, a dump and a read. It is
 * recorded before it is done, and never with the name of whose data it is: the record outlives that.
 */
export async function recordAction(
  { store, now, actor }: RecordServices,
  action: "erase" | "export" | "dump" | "read",
  detail: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await store.write({ type: "record_action", now: now(), by: { actor, action, detail } });
}

/** What operators did, newest first. A bulk action is one of them, with what became of it. */
export async function allActions(
  store: TaskStore,
  before: number | null,
  limit: number,
): Promise<readonly AdminAction[]> {
  const stored = await adminOf(store).actions(null, before, limit);
  return Promise.all(
    stored.map(async (action) =>
      action.job === null
        ? actionOf(action)
        : { ...actionOf(action), detail: await bulkDetail(store, action.job) },
    ),
  );
}

/** What operators did to a task, alone or among others, newest first. */
export async function actionsOn(
  store: TaskStore,
  taskId: string,
  before: number | null,
  limit: number,
): Promise<readonly AdminAction[]> {
  const admin = adminOf(store);
  const [alone, inJobs] = await Promise.all([
    admin.actions(taskId, before, limit),
    admin.bulk.on(taskId, before, limit),
  ]);
  const all = [...alone.map(actionOf), ...inJobs.map(([action, task]) => onTask(action, task))];
  return all.toSorted((a, b) => b.seq - a.seq).slice(0, limit);
}

export function actionOf({ detail, job: _, ...action }: StoredAction): AdminAction {
  return { ...action, detail: detail === null ? null : parsed(detail) };
}

function onTask(action: StoredAction, { job, taskId, created, code }: BulkTask): AdminAction {
  const end = { ...(created !== null && { ranAgainAs: created }), ...(code !== null && { refused: code }) };
  return { ...actionOf(action), taskId, detail: { job, ...end } };
}

/** What filter, how many, and how each ended. */
async function bulkDetail(store: TaskStore, id: string): Promise<object> {
  const { bulk } = adminOf(store);
  const [job, counts] = await Promise.all([bulk.get(id), bulk.counts(id)]);
  if (job === undefined) return { job: id }; // it was about a caller whose data is deleted
  const { selection, options, state, counts: ends, cancelledBy } = shownJob(job, counts, [], []);
  return { job: id, selection, options, state, ...ends, ...(cancelledBy !== null && { cancelledBy }) };
}
