import type { CommandResult, TaskCommand } from "../task/command.ts";
import { DecryptionError, isSealed } from "../task/stored-text.ts";
import { HoldfastError } from "../task/fault.ts";
import { type Cipher, keyIdOf } from "./cipher.ts";
import { columnsOf, type Row, secretPlace, text } from "./row.ts";

/**
 * How the names of secrets begin that are keys of single callers. There may be one for each caller, and no process keeps them: so they come
 * after all other names, and renewals read only what comes before them.
 */
export const personKeys = "~person/";

/** The secrets of an open store, as stored. */
export interface StoredSecrets {
  /** All but the keys of callers, by their names. */
  all(): Promise<ReadonlyMap<string, string>>;
  /** That of the name, with its copies. */
  of(name: string): Promise<ReadonlyMap<string, string>>;
  /** Resolves with the value that the name has now: this one unless there was one before. */
  keep(name: string, value: string): Promise<string>;
  /** Null deletes it. Resolves with false if the name has another value than `before`. */
  replace(name: string, before: string, value: string | null): Promise<boolean>;
}

/** Reads the secrets of a store: those of a name, or else all but the keys of callers. */
export type ReadSecrets = (
  name?: string,
) => ReadonlyMap<string, string> | Promise<ReadonlyMap<string, string>>;

/** Those of a store that reads and writes in this way. */
export function storedSecrets(
  read: ReadSecrets,
  write: (command: TaskCommand<"keep_secret" | "replace_secret">) => Promise<CommandResult>,
): StoredSecrets {
  return {
    all: async () => read(),
    of: async (name) => read(name),
    keep: async (name, value) => {
      const kept = await write({ type: "keep_secret", now: 0, name, value });
      return "value" in kept ? (kept.value ?? value) : value;
    },
    replace: async (name, before, value) => {
      const result = await write({ type: "replace_secret", now: 0, name, before, value });
      return "replaced" in result && result.replaced;
    },
  };
}

const at = columnsOf(["name", "value"]);

export function secretsIn(rows: readonly Row[]): ReadonlyMap<string, string> {
  return new Map(rows.map((row) => [text(row, at.name), text(row, at.value)]));
}

/** A secret that shows which keys belong to the store. */
export const check = "holdfast/encryption";

/** The secrets of a store, in clear. */
export interface Secrets {
  /** The value that the name has: with a value, that one unless there was one before. */
  keep(name: string, value: string | null): Promise<string | null>;
  replace(name: string, before: string, value: string | null): Promise<boolean>;
}

/** Those of an encrypted store, for operators without its keys. */
export const unknownSecrets: Secrets = {
  keep: () => Promise.reject(needsKeys()),
  replace: () => Promise.reject(needsKeys()),
};

function needsKeys(): HoldfastError {
  return new HoldfastError(
    "configuration",
    "This store is encrypted, and so are its secrets. Set HOLDFAST_ENCRYPTION_KEYS to its keys.",
  );
}

/**
 * The secrets of an encrypted store.
 * - Under its name, a secret is sealed with the key that was the first one of who stored it. A process with another first key adds a copy that
 *   is sealed with that one, under a name of its own: so a secret stays readable while keys change. If none is readable, a new one
 *   replaces it.
 * - What replaces a secret is stored once, and removes the copies: they have the former value, or a former key.
 * - Rejects with `configuration` if the first key differs from the one that its id named before.
 */
export class SealedSecrets implements Secrets {
  readonly #stored: StoredSecrets;
  readonly #cipher: Cipher;

  constructor(stored: StoredSecrets, cipher: Cipher) {
    this.#stored = stored;
    this.#cipher = cipher;
  }

  async keep(name: string, value: string | null): Promise<string | null> {
    const { keyId } = this.#cipher;
    const all = await this.#stored.of(name);
    const own = nameFor(name, keyId);
    const found = this.#found(all, name);
    if (found !== undefined) {
      const first = all.get(name);
      const isReadable = first !== undefined && isSealed(first) && keyIdOf(first) === keyId;
      if (!isReadable && !all.has(own)) await this.#stored.keep(own, this.#sealed(own, found));
      return found;
    }
    if (value === null) return null;
    for (const each of [name, own]) {
      const stored = await this.#stored.keep(each, this.#sealed(each, value));
      const kept = this.#opened(each, stored);
      if (kept !== undefined) return kept;
      if (isSealed(stored) && keyIdOf(stored) === keyId) break;
    }
    throw new HoldfastError(
      "configuration",
      `The encryption keys cannot be used. The store has already been used with another key that has the id "${keyId}". Give the new key a different id.`,
    );
  }

  async replace(name: string, before: string, value: string | null): Promise<boolean> {
    const all = await this.#stored.of(name);
    const first = all.get(name);
    if (first === undefined || this.#found(all, name) !== before) return false;
    const sealed = value === null ? null : this.#sealed(name, value);
    if (!(await this.#stored.replace(name, first, sealed))) return false;
    for (const [copy, stored] of all)
      if (isCopyOf(copy, name)) await this.#stored.replace(copy, stored, null);
    return true;
  }

  #found(all: ReadonlyMap<string, string>, name: string): string | undefined {
    for (const each of [name, ...this.#cipher.keyIds.map((id) => nameFor(name, id))]) {
      const found = this.#opened(each, all.get(each));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #sealed(name: string, value: string): string {
    return this.#cipher.seal(value, secretPlace(name));
  }

  #opened(name: string, stored: string | undefined): string | undefined {
    if (stored === undefined || (name === check && !isSealed(stored))) return undefined;
    try {
      return this.#cipher.open(stored, secretPlace(name));
    } catch (error) {
      if (error instanceof DecryptionError) return undefined;
      throw error;
    }
  }
}

/** Whether it names a copy of the secret. */
export function isCopyOf(copy: string, name: string): boolean {
  return copy.startsWith(nameFor(name, ""));
}

function nameFor(name: string, keyId: string): string {
  return `${name}@${keyId}`;
}

/** The ends of a range with a name and those of its copies. */
export function rangeOf(name: string): readonly [string, string] {
  return [name, `${name}A`]; // the character after that of copies
}
