import { createHash, createHmac, randomBytes } from "node:crypto";
import { nextTurn } from "../runtime/next-turn.ts";
import type { TaskStore } from "../store/store.ts";
import type { StoredAction } from "../task/record.ts";
import { HoldfastError } from "../task/fault.ts";
import type { TaskPage } from "./admin.ts";
import { adminOf } from "./admin-store-of.ts";
import { call, type Input, methodsOf, type Operation } from "./operation.ts";
import { type Admin, type AdminReads, reads } from "./operations.ts";
import { recordAction } from "./record-action.ts";

// That an operator saw data of a caller is recorded, once per operator, caller, hour and process. The record outlives the caller's data, so a
// hash with a key stands for the caller, and an erasure destroys the key: from then on, nobody can say whose data it was.
//
// There are 256 keys, in one secret of the store, which every renewal reads: a key for each caller would be too many. The name of a caller
// says which one is its. With a key, what was recorded of one in 256 other callers can no longer be found by their names either.

const secret = "persons";
const keys = 256;
const keyBytes = 16;

interface PersonServices {
  readonly store: TaskStore;
  readonly now: () => number;
}

/** Where the key of a caller is among all keys. */
function placeOf(principal: string): number {
  return (createHash("sha256").update(principal).digest()[0] ?? 0) * keyBytes;
}

/** All keys, as stored; null if there are none yet, unless a value makes them. */
async function keptKeys({ store, now }: PersonServices, value: string | null): Promise<string | null> {
  const command = { type: "keep_secret", now: now(), name: secret, value } as const;
  return (await store.write<"keep_secret">(command)).value;
}

/** What stands for a caller in records of actions; null if none has been made, and in an encrypted store without its keys. */
export async function personOf(
  services: PersonServices,
  principal: string,
  value: string | null = null,
): Promise<string | null> {
  try {
    const kept = await keptKeys(services, value);
    if (kept === null) return null;
    const at = placeOf(principal);
    const key = Buffer.from(kept, "base64url").subarray(at, at + keyBytes);
    return createHmac("sha256", key).update(principal).digest("hex").slice(0, 32);
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "configuration") return null;
    throw error;
  }
}

/** The same, for a record that is made now. */
export function personNow(services: PersonServices, principal: string): Promise<string | null> {
  return personOf(services, principal, randomBytes(keys * keyBytes).toString("base64url"));
}

/** Destroys the key of what stands for a caller. Resolves with false if the store is encrypted and its keys are not here. */
export async function forgetPerson(services: PersonServices, principal: string): Promise<boolean> {
  const { store, now } = services;
  try {
    for (;;) {
      const before = await keptKeys(services, null);
      if (before === null) return true;
      const all = Buffer.from(before, "base64url");
      randomBytes(keyBytes).copy(all, placeOf(principal));
      const value = all.toString("base64url");
      const command = { type: "replace_secret", now: now(), name: secret, before, value } as const;
      if ((await store.write<"replace_secret">(command)).replaced) return true;
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
  /** By operator and caller, what has recorded a read, or is about to. */
  readonly #known = new Map<string, Promise<void>>();
  #hour = 0;

  constructor(services: PersonServices) {
    this.#services = services;
  }

  async add(actor: string, operation: Operation, input: Input, answer: unknown): Promise<void> {
    const principal = await this.#principalOf(operation, input, answer);
    if (principal === undefined) return;
    const hour = Math.floor(this.#services.now() / hourMs);
    if (hour !== this.#hour || this.#known.size >= mostKnown) this.#known.clear();
    this.#hour = hour;
    const read = JSON.stringify([actor, principal]);
    const recorded = this.#known.get(read) ?? this.#record(actor, operation, principal);
    this.#known.set(read, recorded);
    try {
      await recorded;
    } catch (error) {
      this.#known.delete(read);
      throw error;
    }
  }

  async #record(actor: string, operation: Operation, principal: string): Promise<void> {
    const person = await personNow(this.#services, principal);
    await recordAction({ ...this.#services, actor }, "read", { person, by: operation.name });
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
