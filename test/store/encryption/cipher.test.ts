import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Cipher, keyIdOf } from "../../../src/store/encryption/cipher.ts";
import { readKeys } from "../../../src/store/encryption/encryption-keys.ts";
import { DecryptionError, isSealed } from "../../../src/task/stored-text.ts";

const first = { id: "k1", key: Buffer.alloc(32, 1) };
const second = { id: "k-2_", key: Buffer.alloc(32, 2) };
const cipher = new Cipher(readKeys([first, second]));

describe("sealed texts", () => {
  test("are opened as they were, whatever is in them", () => {
    const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("", "\ud800", "\u0000", '\ufffe""'));
    fc.assert(
      fc.property(text, (given) => {
        const sealed = cipher.seal(given);
        expect(isSealed(sealed)).toBe(true);
        expect(cipher.open(sealed)).toBe(given);
      }),
    );
  });

  test("have an initialization vector of their own, and say which key it was", () => {
    expect(cipher.seal("a")).not.toBe(cipher.seal("a"));
    expect(cipher.seal("a")).toMatch(/^enc1:k1:[\w-]+$/);
    expect(keyIdOf(cipher.seal("a", "k-2_"))).toBe("k-2_");
    expect(cipher.open(cipher.seal("a", "k-2_"))).toBe("a");
  });

  test("are no texts that only look like some", () => {
    for (const text of ["", "enc1:", "enc1:k1:abc", "{}", '"enc1:k1:abc"', `enc1:a b:${"a".repeat(60)}`])
      expect(cipher.open(text)).toBe(text);
  });

  test("open with no other key, no other id and no other byte", () => {
    const sealed = cipher.seal("a secret");
    const another = new Cipher(readKeys([{ ...first, key: second.key }]));
    const without = new Cipher(readKeys([second]));
    const renamed = new Cipher(readKeys([first, { ...first, id: "k3" }]));
    const changed = `${sealed.slice(0, -3)}${sealed.endsWith("AAA") ? "BBB" : "AAA"}`;
    expect(() => another.open(sealed)).toThrow(DecryptionError);
    expect(() => without.open(sealed)).toThrow(
      'it is encrypted with the key "k1", which this process does not have',
    );
    expect(() => renamed.open(sealed.replace("k1", "k3"))).toThrow(DecryptionError);
    expect(() => cipher.open(changed)).toThrow(DecryptionError);
  });
});
