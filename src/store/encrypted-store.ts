import { HoldfastError } from "../task/fault.ts";
import type { TaskStore } from "./store.ts";
import { readKeys, type EncryptionKey, type KeyRing } from "./encryption-keys.ts";
import { Protection } from "./protection.ts";

/** Options of `encryptedStore`. */
export interface EncryptionOptions {
  /** The first key encrypts, all keys decrypt. As text: `id:base64,id2:base64`, the form of `HOLDFAST_ENCRYPTION_KEYS`. */
  readonly keys: readonly EncryptionKey[] | string;
}

/**
 * Encrypts the texts of a store that is not open yet (AES-256-GCM), and returns the store. Arguments, questions, answers, logs, outputs and
 * results of tasks never appear in clear in its database, files and notifications. Ids, names of tools, principals, states and times do. Each
 * value is bound to its store, task and place: moved anywhere else it cannot be read. Once a store is encrypted, it does not open without its
 * keys. In a store that had tasks before, texts stored in clear stay readable. Throws `configuration` for invalid keys, and for a store that
 * cannot encrypt.
 *
 * ```ts
 * import { createTasks } from "holdfast";
 * import { sqliteStore } from "holdfast/sqlite";
 * import { encryptedStore } from "holdfast/store";
 *
 * const keys = process.env["HOLDFAST_ENCRYPTION_KEYS"] ?? "";
 * const tasks = createTasks({ store: encryptedStore(sqliteStore("tasks.db"), { keys }) });
 * ```
 */
export function encryptedStore(store: TaskStore, options: EncryptionOptions): TaskStore {
  const protection = new Protection(readKeys(options.keys));
  if (store.protect === undefined)
    throw new HoldfastError(
      "configuration",
      "This store cannot encrypt what it stores. Use sqliteStore or postgresStore, or leave encryption out.",
    );
  store.protect(protection);
  return store;
}

/**
 * A server's store, opened for operators, who may not know whether it is encrypted, and may have no keys. In a store in clear nothing is
 * encrypted, since its server could not read it. Without keys, encrypted texts show as `(encrypted)`, and nothing new can be stored in them.
 */
export function openedStore(store: TaskStore, keys: KeyRing | undefined): TaskStore {
  store.protect?.(new Protection(keys, "operator"));
  return store;
}
