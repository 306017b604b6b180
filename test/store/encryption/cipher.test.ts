import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Cipher, keyIdOf } from "../../../src/store/cipher.ts";
import { DecryptionError, isSealed } from "../../../src/task/stored-text.ts";

const first = { id: "k1", key: Buffer.alloc(32, 1) };
const second = { id: "k-2_", key: Buffer.alloc(32, 2) };
const place = { table: "outcome", column: "body", of: "task" } as const;
const withKeys = (...keys: readonly (typeof first)[]): Cipher =>
  new Cipher({ keys, store: "store", isStrict: false });
const cipher = withKeys(first, second);
const seal = (text: string, keyId?: string): string => cipher.seal(text, place, keyId);
const open = (text: string, by = cipher): string => by.open(text, place);

describe("sealed texts", () => {
  test("are opened as they were, whatever is in them", () => {
    const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("", "\ud800", "\u0000", '\ufffe""'));
    fc.assert(
      fc.property(text, (given) => {
        const sealed = seal(given);
        expect(isSealed(sealed)).toBe(true);
        expect(open(sealed)).toBe(given);
      }),
    );
  });

  test("may be as long as a large result", () => {
    const text = "x".repeat(16 * 1024 * 1024);
    expect(open(seal(text)) === text).toBe(true);
    expect(isSealed(`${seal(text)}"`)).toBe(false);
  });

  test("have an initialization vector of their own, and say which key it was", () => {
    expect(seal("a")).not.toBe(seal("a"));
    expect(seal("a")).toMatch(/^enc2:k1:[\w-]+$/);
    expect(keyIdOf(seal("a", "k-2_"))).toBe("k-2_");
    expect(open(seal("a", "k-2_"))).toBe("a");
  });

  test("are no texts that only look like some", () => {
    for (const text of ["", "enc2:", "enc2:k1:abc", "{}", '"enc2:k1:abc"', `enc2:a b:${"a".repeat(60)}`])
      expect(open(text)).toBe(text);
  });

  test("open with no other key, no other id and no other byte", () => {
    const sealed = seal("a secret");
    const another = withKeys({ ...first, key: second.key });
    const without = withKeys(second);
    const renamed = withKeys(first, { ...first, id: "k3" });
    const changed = `${sealed.slice(0, -3)}${sealed.endsWith("AAA") ? "BBB" : "AAA"}`;
    expect(() => open(sealed, another)).toThrow(DecryptionError);
    expect(() => open(sealed, without)).toThrow(
      'it is encrypted with the key "k1", which this process does not have',
    );
    expect(() => open(sealed.replace("k1", "k3"), renamed)).toThrow(DecryptionError);
    expect(() => open(changed)).toThrow(DecryptionError);
  });

  test("open at no other place, in no other store and with no other key's name", () => {
    const sealed = seal("a secret");
    const elsewhere = [
      { ...place, table: "line" },
      { ...place, column: "value" },
      { ...place, of: "other" },
      { ...place, key: "k" },
      { ...place, key: 1 },
    ] as const;
    for (const other of elsewhere) expect(() => cipher.open(sealed, other)).toThrow(DecryptionError);
    const otherStore = new Cipher({ keys: [first], store: "other", isStrict: false });
    expect(() => open(sealed, otherStore)).toThrow(DecryptionError);
  });

  test("are the only ones that a strict store has", () => {
    const strict = new Cipher({ keys: [first], store: "store", isStrict: true });
    expect(open(strict.seal("a", place), strict)).toBe("a");
    for (const read of [strict.open, strict.openWords])
      expect(() => read("in clear", place)).toThrow("stored in clear");
    expect(() => strict.prove(null, place)).toThrow("stored in clear");
    strict.prove(strict.proofOf(place), place);
  });
});
