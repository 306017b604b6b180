import { encryptedStore, type TaskStore } from "holdfast/store";
import { Cipher } from "../../src/store/encryption/cipher.ts";
import { readKeys } from "../../src/store/encryption/encryption-keys.ts";

const keys = [{ id: "test", key: Buffer.alloc(32, 5) }];

/** Whether the stores of such suites are encrypted: `HOLDFAST_TEST_ENCRYPTED=1`. */
const isEncrypted = process.env["HOLDFAST_TEST_ENCRYPTED"] === "1";

/** A store as such suites have it. */
export function asTested(store: TaskStore): TaskStore {
  return isEncrypted ? encryptedStore(store, { keys }) : store;
}

/** What the database itself has as the answer to a question. Throws where that is in clear although it should not be. */
export function answerIn(value: unknown): string {
  const stored = String(value);
  if (!isEncrypted || value === null) return stored;
  const said = new Cipher(readKeys(keys)).open(stored);
  if (said === stored) throw new Error("An answer is stored in clear.");
  return said;
}
