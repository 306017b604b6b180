import { randomBytes, randomUUID } from "node:crypto";
import { HoldfastError } from "../task/fault.ts";
import type { CommandResult, TaskCommand } from "../task/command.ts";
import type { TaskRecord } from "../task/record.ts";
import { DecryptionError, encryptedText, isSealed } from "../task/stored-text.ts";
import { secretPlace } from "./codec.ts";
import { shownRecord } from "./tables/task.ts";
import { Cipher, undecryptedWords, type Sealing } from "./cipher.ts";
import type { KeyRing } from "./encryption-keys.ts";

/**
 * Whether a store is encrypted, and who may open it.
 * - A store has a random id, to which its encrypted values are bound: those of another store cannot be opened here, even with the same key.
 * - The id is also the mark that it is encrypted. Without keys no server opens it: it would store in clear what others expect to be
 *   encrypted.
 * - The id says whether texts in clear are refused. They are in a store that was encrypted before its first task. Whoever changes or deletes
 *   the id makes everything unreadable.
 */

/** The secrets of an open store, as stored. */
export interface StoredSecrets {
  /** The value that has the name now: with a value, that one unless there was one before. */
  keep(command: KeepSecret): Promise<string | null>;
  hasTasks(): Promise<boolean>;
}

type KeepSecret = Omit<TaskCommand<"keep_secret">, "type">;

const storeId = "holdfast/store";

/** How the id of a strict store begins. */
const strict = "strict:";

/** A secret that shows which keys belong to the store. */
const check = "holdfast/encryption";

/** The secret key of the hashes. */
const hashSecret = "holdfast/request-hash";
const hashKeyBytes = 32;

/** Who opens a store: a server, or an operator, who may not know whether it is encrypted, and may have no keys. */
type OpenedBy = "server" | "operator";

/**
 * How one store is protected: with keys, or without any. A store calls `start` while it opens, and stores texts from then on through
 * `codecOf` what that resolves with.
 */
export class Protection {
  readonly #keys: KeyRing | undefined;
  readonly #by: OpenedBy;
  #isEncrypted = false;
  #secrets: KeptSecrets | undefined;
  #hashKey: Uint8Array | undefined;

  constructor(keys?: KeyRing, by: OpenedBy = "server") {
    this.#keys = keys;
    this.#by = by;
  }

  /**
   * Call it once the store can keep secrets. Resolves with how its texts are stored; undefined if in clear. Rejects with `store_unusable` if it
   * is encrypted and there are no keys, and with `configuration` if they are not its keys.
   */
  async start(stored: StoredSecrets): Promise<Sealing | undefined> {
    const known = await stored.keep({ now: 0, name: storeId, value: null });
    if (this.#keys === undefined) {
      if (known === null) return undefined;
      if (this.#by === "server") throw encrypted();
      this.#isEncrypted = true;
      return { keys: [], store: known, isStrict: isStrict(known) };
    }
    if (known === null && this.#by === "operator") return undefined;
    const made = `${(await stored.hasTasks()) ? "" : strict}${randomUUID()}`;
    const store = known ?? (await stored.keep({ now: 0, name: storeId, value: made })) ?? made;
    const keys = [...this.#keys].map(([id, key]) => ({ id, key: key.export() }));
    const sealing = { keys, store, isStrict: isStrict(store) };
    this.#secrets = new KeptSecrets(stored, new Cipher(sealing));
    const checked = this.#by === "operator" ? null : "belongs";
    if ((await this.#secrets.keep({ now: 0, name: check, value: checked })) === null)
      throw new HoldfastError(
        "configuration",
        "The keys in HOLDFAST_ENCRYPTION_KEYS do not belong to this store. Use the keys of its servers, or unset the variable to see only what is not encrypted.",
      );
    const hashKey = randomBytes(hashKeyBytes).toString("base64url");
    const kept = await this.#secrets.keep({ now: 0, name: hashSecret, value: hashKey });
    this.#hashKey = Buffer.from(kept ?? hashKey, "base64url");
    this.#isEncrypted = true;
    return sealing;
  }

  /** Why this process must not go on: the store is encrypted by now, and this process stores in clear. */
  async lost(stored: Pick<StoredSecrets, "keep">): Promise<HoldfastError | undefined> {
    if (this.#isEncrypted) return undefined;
    const known = await stored.keep({ now: 0, name: storeId, value: null });
    return known !== null ? new HoldfastError("store_lost", encrypted().message) : undefined;
  }

  /** Undefined if secrets are stored in clear. */
  keepSecret(command: KeepSecret): Promise<CommandResult<"keep_secret">> | undefined {
    return this.#secrets?.keep(command).then((value) => ({ ok: true, value }));
  }

  get hashKey(): Uint8Array | undefined {
    return this.#hashKey;
  }

  /** The result of a write as its caller gets it: a record's words may be encrypted with a missing key. */
  shown<T extends object>(result: T): T {
    if (!this.#isEncrypted || !("task" in result)) return result;
    const replacement = this.#keys === undefined ? encryptedText : undecryptedWords;
    return { ...result, task: shownRecord(result.task as TaskRecord, replacement) };
  }
}

function isStrict(store: string): boolean {
  return store.startsWith(strict);
}

/** How the texts are stored of a store that is only read, by an operator. */
export function sealingOf(
  reader: {
    secret(name: string): string | undefined | Promise<string | undefined>;
    hasTasks(): boolean | Promise<boolean>;
  },
  keys: KeyRing | undefined,
): Promise<Sealing | undefined> {
  return new Protection(keys, "operator").start({
    keep: async ({ name }) => (await reader.secret(name)) ?? null,
    hasTasks: async () => reader.hasTasks(),
  });
}

function encrypted(): HoldfastError {
  return new HoldfastError(
    "store_unusable",
    "This store is encrypted, and this process has no keys: it would store in clear what the others encrypt. Set HOLDFAST_ENCRYPTION_KEYS to the keys of the store, or give them to encryptedStore(store, { keys }).",
  );
}

/**
 * The secrets of an encrypted store. A secret never changes, so it is stored once more for each key, under a separate name: it stays
 * readable with any key that was present when it was last read. If none is left, a new secret replaces it. Rejects with `configuration` if
 * the first key differs from the one that its id named before.
 */
class KeptSecrets {
  readonly #stored: StoredSecrets;
  readonly #cipher: Cipher;

  constructor(stored: StoredSecrets, cipher: Cipher) {
    this.#stored = stored;
    this.#cipher = cipher;
  }

  async keep(command: KeepSecret): Promise<string | null> {
    const { name, value } = command;
    const names = [name, ...this.#cipher.keyIds.map((id) => nameFor(name, id))];
    for (const each of names) {
      const found = this.#opened(each, await this.#stored.keep({ ...command, name: each, value: null }));
      if (found !== undefined) return this.#keptForAll(command, found);
    }
    if (value === null) return null;
    for (const each of [name, nameFor(name, this.#cipher.keyId)]) {
      const kept = this.#opened(each, await this.#stored.keep(this.#sealed(command, each, value)));
      if (kept !== undefined) return this.#keptForAll(command, kept);
    }
    throw new HoldfastError(
      "configuration",
      `The encryption keys cannot be used. The store has already been used with another key that has the id "${this.#cipher.keyId}". Give the new key a different id.`,
    );
  }

  async #keptForAll(command: KeepSecret, value: string): Promise<string> {
    for (const id of this.#cipher.keyIds)
      await this.#stored.keep(this.#sealed(command, nameFor(command.name, id), value, id));
    return value;
  }

  #sealed(command: KeepSecret, name: string, value: string, keyId?: string): KeepSecret {
    return { ...command, name, value: this.#cipher.seal(value, secretPlace(name), keyId) };
  }

  #opened(name: string, text: string | null): string | undefined {
    if (text === null || (name === check && !isSealed(text))) return undefined;
    try {
      return this.#cipher.open(text, secretPlace(name));
    } catch (error) {
      if (error instanceof DecryptionError) return undefined;
      throw error;
    }
  }
}

function nameFor(name: string, keyId: string): string {
  return `${name}@${keyId}`;
}
