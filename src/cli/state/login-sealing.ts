import type { AsyncEntry } from "@napi-rs/keyring";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Sealing } from "../../client/auth/file-logins.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import { isJsonObject } from "../../generation/message.ts";
import { UsageError } from "../errors.ts";

/** The system's storage for our secrets of this user, by name. Each method rejects with NoKeyring if there is none, and with another error if it fails. */
export interface Keyring {
  read(name: string): Promise<string | null>;
  write(name: string, secret: string): Promise<void>;
}

/** This system has no keyring, or none that this program can use; the message says which. */
export class NoKeyring extends Error {
  override readonly name = "NoKeyring";
}

const service = "holdfast";

/** A locked keyring first asks the user for a password. */
const patienceMs = 60_000;

/**
 * The operating system's keyring: the Keychain, the Credential Manager, or the Secret Service of a Linux desktop. Its library is
 * optional, and loaded on demand.
 */
const systemKeyring: Keyring = {
  async read(name) {
    return withEntry(name, async (entry) => entry.getPassword(AbortSignal.timeout(patienceMs)));
  },
  async write(name, secret) {
    return withEntry(name, async (entry) => entry.setPassword(secret, AbortSignal.timeout(patienceMs)));
  },
};

async function withEntry<T>(name: string, use: (entry: AsyncEntry) => Promise<T>): Promise<T> {
  const library = await import("@napi-rs/keyring").catch((cause: unknown) => {
    throw new NoKeyring("the package @napi-rs/keyring is not installed for this system", { cause });
  });
  try {
    // Otherwise, without a desktop, Linux would use the kernel's keyring, which is lost on restart.
    const entry = new library.AsyncEntry(service, name, { linux: { store: "secret-service" } });
    return await use(entry);
  } catch (error) {
    if (process.platform === "linux" && isWithoutDesktop(error))
      throw new NoKeyring("this system has no Secret Service, as a desktop would", { cause: error });
    throw error;
  }
}

/** There is no message bus, or nothing on it keeps secrets. The library has one code for everything, so its text has to say it. */
function isWithoutDesktop(error: unknown): boolean {
  const text = error instanceof Error ? error.message : "";
  return /DBUS_SESSION_BUS_ADDRESS|No such file or directory|not provided by any \.service files/.test(text);
}

const algorithm = "aes-256-gcm";

const keyBytes = 32;

const ivBytes = 12;

const choices = ["off", "required"];

/**
 * Seals logins with a key from the system's keyring. The keyring stores only the key, because its space is limited, to 2,560 bytes on
 * Windows. Invariants: a login is stored unsealed only where there is no keyring, or the user wants none, never because the keyring failed;
 * `required` refuses that too. A login that is unsealed stays so while the keyring fails: it could be renewed once, and not be stored.
 */
export class LoginSealing implements Sealing {
  readonly #name: string;
  readonly #choice: string | undefined;
  readonly #keyring: Keyring;
  /** Why the login that was stored last is unsealed. */
  unsealedBecause: string | undefined;

  /** `choice`: `off`, `required`, or none. */
  constructor(name: string, choice: string | undefined, keyring = systemKeyring) {
    this.#name = name;
    this.#choice = choice === "" ? undefined : choice;
    this.#keyring = keyring;
  }

  /** Rejects if a new login could not be stored. */
  async check(): Promise<void> {
    await this.seal("", undefined);
  }

  async seal(text: string, before: string | undefined): Promise<string> {
    this.unsealedBecause = undefined;
    const isUnsealed = before !== undefined && partsOf(before) === undefined;
    try {
      const key = await this.#keyToSeal();
      return key === undefined ? text : sealed(text, key);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (error instanceof UsageError) throw error;
      if (this.#choice !== "required" && (error instanceof NoKeyring || isUnsealed)) {
        this.unsealedBecause = reason;
        return text;
      }
      throw unsealable(reason, error);
    }
  }

  async open(text: string): Promise<string | null> {
    const parts = partsOf(text);
    if (parts !== undefined) return opened(parts, await this.#keyToOpen());
    if (this.#choice !== "required") return text;
    const message =
      "The login is stored without encryption, which HOLDFAST_KEYRING=required refuses. Log in again";
    throw new TaskClientError("unauthorized", message);
  }

  /** This user's key, created with the first login; undefined if the user wants none. */
  async #keyToSeal(): Promise<Buffer | undefined> {
    if (this.#choice !== undefined && !choices.includes(this.#choice))
      throw new UsageError(
        `HOLDFAST_KEYRING is ${JSON.stringify(this.#choice)}: set it to off or required, or not at all.`,
      );
    if (this.#choice === "off") return undefined;
    const known = await this.#keyring.read(this.#name);
    if (known !== null) return readKey(known);
    const key = randomBytes(keyBytes);
    await this.#keyring.write(this.#name, key.toString("base64"));
    // Another process may have created one at the same time: use the stored one.
    return readKey((await this.#keyring.read(this.#name)) ?? "");
  }

  async #keyToOpen(): Promise<Buffer> {
    try {
      const known = this.#choice === "off" ? null : await this.#keyring.read(this.#name);
      if (known !== null) return Buffer.from(known, "base64");
    } catch (cause) {
      throw unreadable({ cause });
    }
    throw unreadable();
  }
}

function readKey(secret: string): Buffer {
  const key = Buffer.from(secret, "base64");
  if (key.length !== keyBytes) throw new RangeError("Holdfast's entry in it is not a valid key");
  return key;
}

function unsealable(reason: string, cause: unknown): TaskClientError {
  const problem =
    cause instanceof NoKeyring
      ? `HOLDFAST_KEYRING=required wants the login encrypted, and there is no keyring to keep the key: ${reason}`
      : `The system's keyring failed, so the login cannot be encrypted: ${reason}. Unlock or repair the keyring, or set HOLDFAST_KEYRING=off to keep logins in files that only you can read`;
  return new TaskClientError("unauthorized", problem, { cause });
}

function unreadable(options?: ErrorOptions): TaskClientError {
  const message =
    "The login is encrypted with a key from the system's keyring, which cannot be read right now";
  return new TaskClientError("unauthorized", message, options);
}

interface Parts {
  readonly iv: Buffer;
  readonly tag: Buffer;
  readonly text: Buffer;
}

function sealed(text: string, key: Buffer): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, key, iv);
  const hidden = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]).toString("base64");
  const parts = { iv: iv.toString("base64"), tag: cipher.getAuthTag().toString("base64"), text: hidden };
  return `${JSON.stringify({ sealed: parts })}\n`;
}

function opened({ iv, tag, text }: Parts, key: Buffer): string | null {
  try {
    const decipher = createDecipheriv(algorithm, key, iv);
    decipher.setAuthTag(tag);
    return Buffer.concat([decipher.update(text), decipher.final()]).toString("utf8");
  } catch {
    return null; // another key, or damaged
  }
}

function partsOf(text: string): Parts | undefined {
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parts = isJsonObject(stored) ? stored["sealed"] : undefined;
  if (!isJsonObject(parts)) return undefined;
  const bytes = (part: unknown): Buffer => Buffer.from(typeof part === "string" ? part : "", "base64");
  return { iv: bytes(parts["iv"]), tag: bytes(parts["tag"]), text: bytes(parts["text"]) };
}
