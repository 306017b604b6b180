import { randomUUID } from "node:crypto";
import { HoldfastError } from "../task/fault.ts";
import type { CommandResult, TaskCommand } from "../task/command.ts";
import type { TaskRecord } from "../task/record.ts";
import { DecryptionError, encryptedText } from "../task/stored-text.ts";
import { secretPlace } from "./row.ts";
import { Cipher, undecryptedWords, type Sealing } from "./cipher.ts";
import type { KeyRing } from "./encryption-keys.ts";
import { compareNames } from "../task/queue.ts";
import { shownRecord } from "./tables/task.ts";
import {
  check,
  type ReadSecrets,
  SealedSecrets,
  unknownSecrets,
  type Secrets,
  type StoredSecrets,
} from "./secrets.ts";

/**
 * Whether a store is encrypted, and who may open it.
 * - A store has a random id, to which its encrypted values are bound: those of another store cannot be opened here, even with the same key.
 * - The id is also the mark that it is encrypted. Without keys no server opens it: it would store in clear what others expect to be
 *   encrypted.
 * - Texts in clear are refused, unless a secret that is sealed itself says that the store is being encrypted (`reseal`). Whoever changes or
 *   deletes the id makes everything unreadable.
 * - A store that has tasks in clear is encrypted by `reseal` alone: a server with keys does not open it before.
 */

/** The parts of a store that its protection needs, once it can keep secrets. */
export interface ProtectedStore {
  readonly secrets: StoredSecrets;
  hasTasks(): Promise<boolean>;
  /** Decides how texts are stored from now on. */
  encrypt(sealing: Sealing): void;
  close(): Promise<void>;
}

/** A renewal that says that the store is lost. */
interface Lost {
  readonly held: false;
  readonly gone: readonly [];
  readonly others: 0;
  readonly lost: HoldfastError;
}

export const storeId = "holdfast/store";

/** The secret of a store in which not everything is sealed yet. */
export const unsealed = "holdfast/unsealed";

/** Who opens a store: a server, or an operator, who may not know whether it is encrypted, and may have no keys. */
type OpenedBy = "server" | "operator";

/** How one store is protected: with keys, or without any. Its methods are called by the store itself. */
export class Protection {
  readonly #keys: KeyRing | undefined;
  readonly #by: OpenedBy;
  #isEncrypted = false;
  #stored: StoredSecrets | undefined;
  #sealing: Sealing | undefined;
  #encrypt: (sealing: Sealing) => void = () => undefined;
  /** The secrets as of the last renewal, or of when the store was opened. */
  #seen = "";
  #secrets: Secrets | undefined;
  #lost: HoldfastError | undefined;

  constructor(keys?: KeyRing, by: OpenedBy = "server") {
    this.#keys = keys;
    this.#by = by;
  }

  /**
   * Call it while the store opens, as the last thing. Rejects with `store_unusable` if it is encrypted and there are no keys, and with
   * `configuration` if they are not its keys; the store is closed then.
   */
  async begin(store: ProtectedStore): Promise<void> {
    try {
      const sealing = await this.#start(store.secrets, () => store.hasTasks());
      if (sealing !== undefined) store.encrypt(sealing);
      this.#encrypt = (now) => store.encrypt(now);
      this.#seen = seenIn(await store.secrets.all());
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** How the texts are stored of a store that is only read, by an operator; undefined if in clear. */
  static readOnly(read: ReadSecrets, keys: KeyRing | undefined): Promise<Sealing | undefined> {
    const kept = new Error("A store that is only read keeps no secrets.");
    const secrets: StoredSecrets = {
      all: async () => read(),
      of: async (name) => read(name),
      keep: (_name, value) => Promise.resolve(value),
      replace: () => Promise.reject(kept),
    };
    return new Protection(keys, "operator").#start(secrets, () => Promise.resolve(true));
  }

  async #start(stored: StoredSecrets, hasTasks: () => Promise<boolean>): Promise<Sealing | undefined> {
    this.#stored = stored;
    const known = (await stored.all()).get(storeId);
    if (this.#keys === undefined) {
      if (known === undefined) return undefined;
      if (this.#by === "server") throw encrypted();
      this.#isEncrypted = true;
      this.#secrets = unknownSecrets;
      return { keys: [], store: known, isStrict: true };
    }
    if (known === undefined && this.#by === "operator") return undefined;
    if (known === undefined && (await hasTasks())) throw inClearSoFar();
    const store = known ?? (await stored.keep(storeId, randomUUID()));
    const keys = [...this.#keys].map(([id, key]) => ({ id, key: key.export() }));
    const sealing = sealingNow({ keys, store }, await stored.all());
    this.#sealing = sealing;
    this.#secrets = new SealedSecrets(stored, new Cipher(sealing));
    if ((await this.#secrets.keep(check, this.#by === "operator" ? null : "belongs")) === null)
      throw new HoldfastError(
        "configuration",
        "The keys in HOLDFAST_ENCRYPTION_KEYS do not belong to this store. Use the keys of its servers, or unset the variable to see only what is not encrypted.",
      );
    this.#isEncrypted = true;
    return sealing;
  }

  /** The renewal, which finds out whether this process must not go on, because the store is encrypted by now and it stores in clear. */
  async renewed<R extends object>(
    renew: () => R | Promise<R>,
  ): Promise<(R & { readonly secretsChanged?: true }) | Lost> {
    const [renewal, all] = await Promise.all([renew(), this.#stored?.all()]);
    if (!this.#isEncrypted && all?.has(storeId) === true)
      this.#lost ??= new HoldfastError("store_lost", encrypted().message);
    if (this.#lost !== undefined) return { held: false, gone: [], others: 0, lost: this.#lost };
    this.#look(all ?? new Map());
    const seen = seenIn(all ?? new Map());
    const isOther = seen !== this.#seen;
    this.#seen = seen;
    return isOther ? { ...renewal, secretsChanged: true } : renewal;
  }

  /** Everything may be sealed by now, so that texts in clear are refused from now on. */
  #look(all: ReadonlyMap<string, string>): void {
    if (this.#sealing === undefined) return;
    const now = sealingNow(this.#sealing, all);
    if (now.isStrict === this.#sealing.isStrict) return;
    this.#sealing = now;
    this.#secrets = this.#stored && new SealedSecrets(this.#stored, new Cipher(now));
    this.#encrypt(now);
  }

  /** Throws `store_lost` once a renewal has found out. */
  assertHeld(): void {
    if (this.#lost !== undefined) throw this.#lost;
  }

  /** Applies a command about a secret of an encrypted store; undefined for any other. */
  written(command: TaskCommand): Promise<CommandResult> | undefined {
    const isAboutSecret = command.type === "keep_secret" || command.type === "replace_secret";
    const secrets = this.#secrets;
    return isAboutSecret && secrets !== undefined ? writeSecret(secrets, command) : undefined;
  }

  /** The result of a write as its caller gets it: a record's words may be encrypted with a missing key. */
  shown<T extends object>(result: T): T {
    if (!this.#isEncrypted || !("task" in result)) return result;
    const replacement = this.#keys === undefined ? encryptedText : undecryptedWords;
    return { ...result, task: shownRecord(result.task as TaskRecord, replacement) };
  }
}

function seenIn(all: ReadonlyMap<string, string>): string {
  return JSON.stringify([...all].toSorted(([a], [b]) => compareNames(a, b)));
}

async function writeSecret(
  secrets: Secrets,
  command: TaskCommand<"keep_secret" | "replace_secret">,
): Promise<CommandResult> {
  if (command.type === "keep_secret")
    return { ok: true, value: await secrets.keep(command.name, command.value) };
  const { name, before, value } = command;
  return { ok: true, replaced: await secrets.replace(name, before, value) };
}

/** Texts in clear are accepted only if one of the keys has sealed the secret that says so. */
function sealingNow(of: Pick<Sealing, "keys" | "store">, all: ReadonlyMap<string, string>): Sealing {
  const strict = { keys: of.keys, store: of.store, isStrict: true };
  const stored = all.get(unsealed);
  if (stored === undefined) return strict;
  try {
    return { ...strict, isStrict: new Cipher(strict).open(stored, secretPlace(unsealed)) !== "" };
  } catch (error) {
    if (error instanceof DecryptionError) return strict;
    throw error;
  }
}

function inClearSoFar(): HoldfastError {
  return new HoldfastError(
    "store_unusable",
    "This store has tasks that are not encrypted, and this process has keys. Encrypt them first, with HOLDFAST_ENCRYPTION_KEYS set to the keys: holdfast admin STORE reseal",
  );
}

function encrypted(): HoldfastError {
  return new HoldfastError(
    "store_unusable",
    "This store is encrypted, and this process has no keys: it would store in clear what the others encrypt. Set HOLDFAST_ENCRYPTION_KEYS to the keys of the store, or give them to encryptedStore(store, { keys }).",
  );
}
