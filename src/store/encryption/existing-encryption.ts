import { HoldfastError } from "../../task/fault.ts";
import type { TaskStore } from "../store.ts";
import type { Encryption } from "./encryption.ts";
import type { KeyRing } from "./encryption-keys.ts";
import { storeWith } from "./encrypted-store.ts";
import { hashSecret, keyedEncryption } from "./keyed-encryption.ts";
import type { Texts } from "./form.ts";
import { inClear, openingWithoutKeys, sealingWithoutKeys } from "./texts.ts";

type Used = Pick<Encryption, "sealing" | "opening" | "hashKey">;

const plain: Used = { sealing: inClear, opening: inClear, hashKey: () => undefined };
const withoutKeys: Used = {
  sealing: sealingWithoutKeys,
  opening: openingWithoutKeys,
  hashKey: () => undefined,
};

/**
 * A server's store, opened for operators, who may not know whether it is encrypted, and may have no keys. In a store in clear nothing is
 * encrypted, since its server could not read it. Without keys, encrypted texts show as `(encrypted)`, and can be run again unchanged.
 */
export function openedStore(inner: TaskStore, keys: KeyRing | undefined): TaskStore {
  const keyed = keys === undefined ? undefined : keyedEncryption(inner, keys);
  let used = plain;
  return storeWith(inner, {
    async start() {
      const asked = { type: "keep_secret", now: 0, name: hashSecret, value: null } as const;
      const { value } = await inner.write<"keep_secret">(asked);
      if (value === null) return;
      used = keyed ?? withoutKeys;
      // No server could read what these keys encrypt.
      if (keyed !== undefined && (await keyed.keepSecret(asked)).value === null)
        throw new HoldfastError(
          "configuration",
          "The keys in HOLDFAST_ENCRYPTION_KEYS do not belong to this store. Use the keys of its servers, or unset the variable to see only what is not encrypted.",
        );
      await keyed?.start();
    },
    sealing: later(() => used.sealing),
    opening: later(() => used.opening),
    hashKey: () => used.hashKey(),
    keepSecret: (command) =>
      used === keyed
        ? keyed.keepSecret(command)
        : inner.write<"keep_secret">({ ...command, type: "keep_secret" }),
  });
}

/** Texts that are only known once the store is open. */
function later(texts: () => Texts): Texts {
  return {
    body: (text) => texts().body(text),
    words: (text) => texts().words(text),
    attemptError: (text) => texts().attemptError(text),
    failure: (text) => texts().failure(text),
    lineBody: (text, list) => texts().lineBody(text, list),
    caller: (caller) => texts().caller(caller),
  };
}
