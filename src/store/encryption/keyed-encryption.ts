import { randomBytes } from "node:crypto";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskStore } from "../store.ts";
import { Cipher } from "./cipher.ts";
import type { Encryption } from "./encryption.ts";
import type { KeyRing } from "./encryption-keys.ts";
import { KeptSecrets } from "./kept-secrets.ts";
import { opening, sealing } from "./texts.ts";

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
