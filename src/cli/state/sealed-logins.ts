import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Sealing } from "../../client/auth/file-logins.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import { isJsonObject } from "../../generation/message.ts";
import type { Keyring } from "./keyring.ts";

const algorithm = "aes-256-gcm";
const keyBytes = 32;
const ivBytes = 12;

/**
 * Seals logins with a key from the system's keyring. The keyring stores only the key, because its space is limited, to 2,560 bytes on
 * Windows. Without a keyring, texts stay unsealed.
 */
export function sealedBy(keyring: Keyring | undefined, name: string): Sealing {
  return {
    async seal(text) {
      const key = keyring === undefined ? undefined : await keyFor(keyring, name).catch(() => undefined);
      return key === undefined ? text : sealed(text, key);
    },
    async open(text) {
      const parts = partsOf(text);
      if (parts === undefined) return text;
      return opened(parts, await keyOf(keyring, name));
    },
  };
}

/** This user's key, created with the first login. */
async function keyFor(keyring: Keyring, name: string): Promise<Buffer> {
  const known = await keyring.read(name);
  if (known !== null) return readKey(known);
  const key = randomBytes(keyBytes);
  await keyring.write(name, key.toString("base64"));
  // Another process may have created one at the same time: use the stored one.
  return readKey((await keyring.read(name)) ?? "");
}

function readKey(secret: string): Buffer {
  const key = Buffer.from(secret, "base64");
  if (key.length !== keyBytes)
    throw new RangeError("Holdfast's entry in the system's keyring is not a valid key");
  return key;
}

async function keyOf(keyring: Keyring | undefined, name: string): Promise<Buffer> {
  try {
    const known = await keyring?.read(name);
    if (known != null) return Buffer.from(known, "base64");
  } catch (cause) {
    throw unreadable({ cause });
  }
  throw unreadable();
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
