import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomBytes,
  type KeyObject,
} from "node:crypto";
import { HoldfastError } from "../task/fault.ts";
import { DecryptionError, encryptedText, isSealed } from "../task/stored-text.ts";
import { type Codec, fromStored, inClear, type Place, toStored } from "./row.ts";

const algorithm = "aes-256-gcm";
const prefix = "enc2";
const ivBytes = 12;
const tagBytes = 16;

/** What a store needs to encrypt: plain data, since it is sent to other threads. */
export interface Sealing {
  /** The first key encrypts, all decrypt. None: for operators without keys, who read what is not encrypted. */
  readonly keys: readonly { readonly id: string; readonly key: Uint8Array }[];
  /** The random id of the store. */
  readonly store: string;
  /** Whether texts in clear are refused. */
  readonly isStrict: boolean;
}

/** Replaces a text of a record that cannot be decrypted. */
export const undecryptedWords = "(encrypted with a missing key)";

/** A text whose key this process does not have. */
class MissingKeyError extends DecryptionError {}

/** The codec of an encrypted store. */
export function codecOf(sealing: Sealing): Codec {
  return sealing.keys.length === 0 ? withoutKeys : new Cipher(sealing);
}

/**
 * Encrypts texts to texts: `enc2:KEYID:` and the base64url of the IV, the ciphertext and the tag. The key's id, the store and the place are
 * authenticated with it. An older value of the same place can be put back unnoticed.
 */
export class Cipher implements Codec {
  readonly #keys = new Map<string, KeyObject>();
  readonly #store: string;
  readonly #isStrict: boolean;
  /** The id of the key that encrypts. */
  readonly keyId: string;

  constructor({ keys, store, isStrict }: Sealing) {
    const [first] = keys;
    if (first === undefined) throw new TypeError("A cipher needs a key.");
    for (const { id, key } of keys) this.#keys.set(id, createSecretKey(key));
    this.#store = store;
    this.#isStrict = isStrict;
    this.keyId = first.id;
  }

  get keyIds(): readonly string[] {
    return [...this.#keys.keys()];
  }

  /** Encrypts with the first key, or with the key `keyId`. Each result is different. */
  readonly seal = (text: string, place: Place, keyId = this.keyId): string => {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, this.#key(keyId), iv, { authTagLength: tagBytes });
    cipher.setAAD(this.#additionalData(keyId, place));
    // UTF-8 cannot hold half of a surrogate pair, but JavaScript can.
    const sealed = cipher.update(toStored(text), "utf8");
    const bytes = Buffer.concat([iv, sealed, cipher.final(), cipher.getAuthTag()]);
    return `${prefix}:${keyId}:${bytes.toString("base64url")}`;
  };

  readonly open = (text: string, place: Place): string => {
    if (!isSealed(text)) {
      if (this.#isStrict)
        throw new DecryptionError("part of it is stored in clear, which this store does not allow");
      return text;
    }
    const keyId = keyIdOf(text);
    const key = this.#key(keyId);
    const bytes = Buffer.from(text.slice(prefix.length + keyId.length + 2), "base64url");
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(this.#additionalData(keyId, place));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const opened = decipher.update(bytes.subarray(ivBytes, -tagBytes));
      return fromStored(Buffer.concat([opened, decipher.final()]).toString("utf8"));
    } catch {
      throw new DecryptionError(
        `it cannot be decrypted with the key "${keyId}": the key is wrong, or the text was changed or moved`,
      );
    }
  };

  /** What another key has encrypted stays. Words that only look so, of whoever wrote them, are never taken for ours. */
  readonly sealWords = (text: string, place: Place): string =>
    isSealed(text) && !this.#keys.has(keyIdOf(text)) ? text : this.seal(text, place);

  readonly openWords = (text: string, place: Place): string => {
    try {
      return this.open(text, place);
    } catch (error) {
      if (error instanceof MissingKeyError) return text;
      throw error;
    }
  };

  readonly keyedHash = (hash: string): string => {
    if (hash.startsWith("k")) return hash;
    const mac = createHmac("sha256", this.#key(this.keyId)).update(
      JSON.stringify([this.#store, "hash", hash]),
    );
    return `k${mac.digest("hex").slice(0, 16)}`;
  };

  readonly proofOf = (place: Place): string => this.seal("", place);

  readonly prove = (proof: string | null, place: Place): boolean => {
    if (proof !== null) return this.openWords(proof, place) === "";
    if (this.#isStrict) throw new DecryptionError("it is stored in clear, which this store does not allow");
    return true;
  };

  #key(id: string): KeyObject {
    const key = this.#keys.get(id);
    if (key === undefined)
      throw new MissingKeyError(`it is encrypted with the key "${id}", which this process does not have`);
    return key;
  }

  #additionalData(keyId: string, { table, column, of, key }: Place): Buffer {
    return Buffer.from(JSON.stringify([prefix, keyId, this.#store, table, column, of, key ?? null]));
  }
}

/**
 * Encrypted texts stay as they are, and no new ones are stored: a copy of one could not be opened at its new place. Nor are texts in clear,
 * also while the store is being encrypted: nobody would seal them after that.
 */
const withoutKeys: Codec = {
  ...inClear,
  seal() {
    throw new HoldfastError(
      "configuration",
      "This store is encrypted. To store new data in it, set HOLDFAST_ENCRYPTION_KEYS to its keys.",
    );
  },
  sealWords: (text) => (isSealed(text) ? text : null),
};

/** The codecs of an open store: in clear, unless it is encrypted. */
export class Codecs {
  reading: Codec = inClear;
  writing: Codec = inClear;

  use(sealing: Sealing): void {
    this.reading = readingCodecOf(sealing);
    this.writing = codecOf(sealing);
  }
}

/** The same for readers, who get a text in place of words that cannot be decrypted here. */
export function readingCodecOf(sealing: Sealing): Codec {
  const codec = codecOf(sealing);
  const replacement = sealing.keys.length === 0 ? encryptedText : undecryptedWords;
  return {
    ...codec,
    openWords(text, place) {
      const words = codec.openWords(text, place);
      return words === text && isSealed(words) ? replacement : words;
    },
  };
}

/** The key id of an encrypted text. */
export function keyIdOf(sealed: string): string {
  return sealed.slice(prefix.length + 1, sealed.indexOf(":", prefix.length + 1));
}
