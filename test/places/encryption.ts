import { encryptedStore, type TaskStore } from "holdfast/store";
import { Cipher } from "../../src/store/cipher.ts";

const key = { id: "test", key: Buffer.alloc(32, 5) };

/** Whether the stores of such suites are encrypted: `HOLDFAST_TEST_ENCRYPTED=1`. */
const isEncrypted = process.env["HOLDFAST_TEST_ENCRYPTED"] === "1";

/** A store as such suites have it. */
export function asTested(store: TaskStore): TaskStore {
  return isEncrypted ? encryptedStore(store, { keys: [key] }) : store;
}

/** The name of the secret that is the id of an encrypted store. */
export const storeIdSecret = "holdfast/store";

interface StoredAnswer {
  /** The id of the store; anything if it is not encrypted. */
  readonly store: unknown;
  readonly task: string;
  /** The key of its entry. */
  readonly entry: string;
  readonly value: unknown;
}

/** What the database itself has as the answer to a question. Throws where that is in clear although it should not be. */
export function answerIn({ store, task, entry, value }: StoredAnswer): string {
  const stored = String(value);
  if (!isEncrypted || value === null) return stored;
  const cipher = new Cipher({ keys: [key], store: String(store), isStrict: true });
  return cipher.open(stored, { table: "journal", column: "value", of: task, key: entry });
}
