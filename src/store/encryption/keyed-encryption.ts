import { randomBytes } from "node:crypto";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskStore } from "../store.ts";
import { Cipher } from "./cipher.ts";
import type { Encryption } from "./encryption.ts";
import type { KeyRing } from "./encryption-keys.ts";
import { opening, sealing } from "./texts.ts";
import type { CommandResult, TaskCommand } from "../../task/command.ts";
import { DecryptionError } from "../../task/stored-text.ts";

/** The secret key of the hashes; a store that has it is encrypted. */
export const hashSecret = "holdfast/request-hash";

const hashKeyBytes = 32;

/** Encryption with the keys at hand. */
export function keyedEncryption(inner: TaskStore, keys: KeyRing): Encryption {
  const cipher = new Cipher(keys);
  const secrets = new KeptSecrets(inner, cipher);
  let hashKey: Uint8Array | undefined;
  return {
    sealing: sealing(cipher),
    opening: opening(cipher),
    keepSecret: (command) => secrets.keep(command),
    async start() {
      const made = randomBytes(hashKeyBytes).toString("base64url");
      const { value } = await secrets.keep({ now: 0, name: hashSecret, value: made });
      hashKey = Buffer.from(value ?? made, "base64url");
    },
    hashKey() {
      if (hashKey === undefined) throw new HoldfastError("store_closed", "The store is not open.");
      return hashKey;
    },
  };
}

type KeepSecret = Omit<TaskCommand<"keep_secret">, "type">;

/**
 * The secrets of an encrypted store. A secret never changes, so it is stored once more for each key, under a separate name: it stays
 * readable with any key that was present when it was last read. If none is left, a new secret replaces it. Rejects with `configuration` if
 * the first key differs from the one that its id named before.
 */
export class KeptSecrets {
  readonly #inner: TaskStore;
  readonly #cipher: Cipher;

  constructor(inner: TaskStore, cipher: Cipher) {
    this.#inner = inner;
    this.#cipher = cipher;
  }

  async keep(command: KeepSecret): Promise<CommandResult<"keep_secret">> {
    const { name, value } = command;
    const names = [name, ...this.#cipher.keyIds.map((id) => nameFor(name, id))];
    for (const each of names) {
      const found = this.#opened(await this.#ask({ ...command, name: each, value: null }));
      if (found !== undefined) return this.#keptForAll(command, found);
    }
    if (value === null) return { ok: true, value };
    for (const each of [name, nameFor(name, this.#cipher.keyId)]) {
      const kept = this.#opened(await this.#ask({ ...command, name: each, value: this.#cipher.seal(value) }));
      if (kept !== undefined) return this.#keptForAll(command, kept);
    }
    throw new HoldfastError(
      "configuration",
      `The encryption keys cannot be used. The store has already been used with another key that has the id "${this.#cipher.keyId}". Give the new key a different id.`,
    );
  }

  async #keptForAll(command: KeepSecret, value: string): Promise<CommandResult<"keep_secret">> {
    for (const id of this.#cipher.keyIds)
      await this.#ask({ ...command, name: nameFor(command.name, id), value: this.#cipher.seal(value, id) });
    return { ok: true, value };
  }

  async #ask(command: KeepSecret): Promise<string | null> {
    const { value } = await this.#inner.write<"keep_secret">({ ...command, type: "keep_secret" });
    return value;
  }

  #opened(text: string | null): string | undefined {
    if (text === null) return undefined;
    try {
      return this.#cipher.open(text);
    } catch (error) {
      if (error instanceof DecryptionError) return undefined;
      throw error;
    }
  }
}

function nameFor(name: string, keyId: string): string {
  return `${name}@${keyId}`;
}
