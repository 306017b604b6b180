import { randomBytes } from "node:crypto";
import { callKeys, furtherKey, isCallKey, isKeyOf, sessionOfKey } from "../runtime/call-keys.ts";
import { readSecret, secretNames, type SecretName } from "../runtime/secrets.ts";
import type { TaskStore } from "../store/store.ts";
import { isUnreadable } from "../task/fault.ts";
import type { TaskRecord } from "../task/record.ts";
import { rotated, secretAt, settledAt, untilUsedMs, type Secret } from "../task/secret.ts";
import { adminOf } from "./admin-store-of.ts";

export interface RotateServices {
  readonly store: TaskStore;
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<unknown>;
}

export interface RotatedSecrets {
  /** The secrets that have a new version. One that no server has used yet does not exist. */
  readonly secrets: readonly SecretName[];
  /** When the earlier versions are no longer accepted (epoch ms); null: they are deleted already. */
  readonly acceptedUntil: number | null;
  /** How many tasks got a key from the new version, by which an equal call finds them. */
  readonly rekeyed: number;
  /** Tasks that keep their key, since they cannot be read: an equal call then starts another task. */
  readonly left: readonly string[];
}

/**
 * Makes new versions of the secrets of a store, while servers run: they learn of them before they use them, and accept what was made with
 * earlier versions for `acceptMs` more. After that, servers delete those, as does `gc`.
 */
export async function rotateSecrets(services: RotateServices, acceptMs: number): Promise<RotatedSecrets> {
  const { store, now, pause } = services;
  const texts = new Map<SecretName, string>();
  for (const name of secretNames) {
    const text = await rotateOne(services, name, acceptMs);
    if (text !== undefined) texts.set(name, text);
  }
  const ends = [...texts.values()].flatMap((text) => settledAt(text) ?? []);
  const callKey = texts.get("call-keys");
  let [count, left]: [number, readonly string[]] = [0, []];
  if (callKey !== undefined) {
    // Servers that look for the new version alone find nothing before.
    if (ends.length === 0) ({ count } = await rekey(store, now, callKey));
    // Until they have learned of it, others make tasks with keys of the earlier one.
    await pause(untilUsedMs);
    const last = await rekey(store, now, callKey);
    [count, left] = [count + last.count, last.left];
  }
  return {
    secrets: [...texts.keys()],
    acceptedUntil: ends.length === 0 ? null : Math.max(...ends),
    rekeyed: count,
    left,
  };
}

/** Resolves with the new text; undefined if there is no such secret yet. */
async function rotateOne(
  { store, now }: RotateServices,
  name: SecretName,
  acceptMs: number,
): Promise<string | undefined> {
  for (;;) {
    const before = await readSecret(store, name, now());
    if (before === null) return undefined;
    const value = rotated(before, randomBytes(32).toString("base64url"), now(), acceptMs);
    const command = { type: "replace_secret", now: now(), name, before, value } as const;
    const { replaced } = await store.write<"replace_secret">(command);
    if (replaced) return value;
  }
}

/** Tasks read at a time. */
const page = 200;

/**
 * Gives the tasks of calls that send no key the key of the new version. It is computed again from their arguments, so an equal call still
 * finds its task once the earlier version is gone.
 */
async function rekey(
  store: TaskStore,
  now: () => number,
  text: string,
): Promise<{ readonly count: number; readonly left: readonly string[] }> {
  const left: string[] = [];
  let count = 0;
  for (let before: string | null = null; ;) {
    const tasks: readonly TaskRecord[] = await adminOf(store).tasks({ of: "all" }, before, page);
    for (const task of tasks) {
      const { idempotencyKey } = task;
      if (!isCallKey(idempotencyKey)) continue;
      const key = await keyOf(store, task, idempotencyKey, secretAt(text, now()));
      if (key === undefined) left.push(task.id);
      else if (key !== idempotencyKey) {
        const command = { type: "rekey", now: now(), id: task.id, before: idempotencyKey, key } as const;
        if ((await store.write<"rekey">(command)).ok) count += 1;
      }
    }
    before = tasks.at(-1)?.id ?? null;
    if (tasks.length < page) return { count, left };
  }
}

/** The key that the task of a call has from now on; undefined if the task cannot be read. */
async function keyOf(
  store: TaskStore,
  { id, principal, tool }: TaskRecord,
  key: string,
  secret: Secret,
): Promise<string | undefined> {
  try {
    const request = await store.request(id);
    if (request === undefined) return key; // it is gone
    const claims = request.origin.caller?.claims;
    const call = {
      principal,
      session: sessionOfKey(key),
      tool,
      arguments: JSON.parse(request.arguments) as unknown,
      claims,
    };
    const { key: current = key } = callKeys(secret, call) ?? {};
    if (isKeyOf(key, [current])) return key;
    const holders = await store.withKeys(principal, current, 1);
    return holders.some((holder) => holder.key === current) ? furtherKey(current, id) : current;
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}
