import { randomUUID } from "node:crypto";
import { HoldfastError } from "../task/fault.ts";
import type { CommandResult, TaskCommand } from "../task/command.ts";
import type { TaskRecord } from "../task/record.ts";
import { encryptedText } from "../task/stored-text.ts";
import { Cipher, undecryptedWords, type Sealing } from "./cipher.ts";
import type { KeyRing } from "./encryption-keys.ts";
import { compareNames } from "../task/queue.ts";
import { shownRecord } from "./tables/task.ts";
import { check, SealedSecrets, unknownSecrets, type Secrets, type StoredSecrets } from "./secrets.ts";

/**
 * Whether a store is encrypted, and who may open it.
 * - A store has a random id, to which its encrypted values are bound: those of another store cannot be opened here, even with the same key.
 * - The id is also the mark that it is encrypted. Without keys no server opens it: it would store in clear what others expect to be
 *   encrypted.
 * - The id says whether texts in clear are refused. They are in a store that was encrypted before its first task. Whoever changes or deletes
 *   the id makes everything unreadable.
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

const storeId = "holdfast/store";

/** How the id of a strict store begins. */
const strict = "strict:";

/** Who opens a store: a server, or an operator, who may not know whether it is encrypted, and may have no keys. */
type OpenedBy = "server" | "operator";

/** How one store is protected: with keys, or without any. Its methods are called by the store itself. */
export class Protection {
  readonly #keys: KeyRing | undefined;
  readonly #by: OpenedBy;
  #isEncrypted = false;
  #stored: StoredSecrets | undefined;
  /** The secrets as of the last renewal. */
  #seen: string | undefined;
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
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** How the texts are stored of a store that is only read, by an operator; undefined if in clear. */
  static readOnly(
    all: () => ReadonlyMap<string, string> | Promise<ReadonlyMap<string, string>>,
    keys: KeyRing | undefined,
  ): Promise<Sealing | undefined> {
    const kept = new Error("A store that is only read keeps no secrets.");
    const secrets: StoredSecrets = {
      all: async () => all(),
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
      return { keys: [], store: known, isStrict: isStrict(known) };
    }
    if (known === undefined && this.#by === "operator") return undefined;
    const store = known ?? (await stored.keep(storeId, `${(await hasTasks()) ? "" : strict}${randomUUID()}`));
    const keys = [...this.#keys].map(([id, key]) => ({ id, key: key.export() }));
    const sealing = { keys, store, isStrict: isStrict(store) };
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
    const seen = JSON.stringify([...(all ?? [])].toSorted(([a], [b]) => compareNames(a, b)));
    const isOther = this.#seen !== undefined && seen !== this.#seen;
    this.#seen = seen;
    return isOther ? { ...renewal, secretsChanged: true } : renewal;
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

async function writeSecret(
  secrets: Secrets,
  command: TaskCommand<"keep_secret" | "replace_secret">,
): Promise<CommandResult> {
  if (command.type === "keep_secret")
    return { ok: true, value: await secrets.keep(command.name, command.value) };
  const { name, before, value } = command;
  return { ok: true, replaced: await secrets.replace(name, before, value) };
}

function isStrict(store: string): boolean {
  return store.startsWith(strict);
}

function encrypted(): HoldfastError {
  return new HoldfastError(
    "store_unusable",
    "This store is encrypted, and this process has no keys: it would store in clear what the others encrypt. Set HOLDFAST_ENCRYPTION_KEYS to the keys of the store, or give them to encryptedStore(store, { keys }).",
  );
}
