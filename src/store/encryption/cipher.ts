import { createCipheriv, createDecipheriv, randomBytes, type KeyObject } from "node:crypto";
import { DecryptionError, isSealed } from "../../task/stored-text.ts";
import { fromStored, toStored } from "../stored-text.ts";
import type { KeyRing } from "./encryption-keys.ts";

const algorithm = "aes-256-gcm";
const prefix = "enc1";
const ivBytes = 12;
const tagBytes = 16;

/** Encrypts texts to texts: `enc1:KEYID:` and the base64url of the IV, the ciphertext and the tag. */
export class Cipher {
  readonly #keys: KeyRing;
  /** The id of the key that encrypts. */
  readonly keyId: string;

  constructor(keys: KeyRing) {
    const [first] = keys.keys();
    if (first === undefined) throw new TypeError("A cipher needs a key.");
    this.#keys = keys;
    this.keyId = first;
  }

  get keyIds(): readonly string[] {
    return [...this.#keys.keys()];
  }

  /** Encrypts with the first key, or with the key `keyId`. Each result is different. */
  readonly seal = (text: string, keyId = this.keyId): string => {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, this.#key(keyId), iv, { authTagLength: tagBytes });
    cipher.setAAD(additionalData(keyId));
    // UTF-8 cannot hold half of a surrogate pair, but JavaScript can.
    const sealed = cipher.update(toStored(text), "utf8");
    const bytes = Buffer.concat([iv, sealed, cipher.final(), cipher.getAuthTag()]);
    return `${prefix}:${keyId}:${bytes.toString("base64url")}`;
  };

  /** The decrypted text; a text in clear is returned unchanged. Throws `DecryptionError` if its key is missing or wrong, or it was changed. */
  readonly open = (text: string): string => {
    if (!isSealed(text)) return text;
    const keyId = keyIdOf(text);
    const key = this.#key(keyId);
    const bytes = Buffer.from(text.slice(prefix.length + keyId.length + 2), "base64url");
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(additionalData(keyId));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const opened = decipher.update(bytes.subarray(ivBytes, -tagBytes));
      return fromStored(Buffer.concat([opened, decipher.final()]).toString("utf8"));
    } catch {
      throw new DecryptionError(
        `it cannot be decrypted with the key "${keyId}": the key is wrong, or the text was changed`,
      );
    }
  };

  #key(id: string): KeyObject {
    const key = this.#keys.get(id);
    if (key === undefined)
      throw new DecryptionError(`it is encrypted with the key "${id}", which this process does not have`);
    return key;
  }
}

/** The key id of an encrypted text. */
export function keyIdOf(sealed: string): string {
  return sealed.slice(prefix.length + 1, sealed.indexOf(":", prefix.length + 1));
}

function additionalData(keyId: string): Buffer {
  return Buffer.from(`holdfast ${prefix} ${keyId}`);
}
