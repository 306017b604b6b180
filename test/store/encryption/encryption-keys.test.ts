import { expect, test } from "vitest";
import { readKeys, type EncryptionKey } from "../../../src/store/encryption-keys.ts";

const base64 = Buffer.alloc(32, 250).toString("base64");
const base64url = Buffer.alloc(32, 250).toString("base64url");

test("keys come as bytes, as base64 of either kind, or all in one text", () => {
  const keys = [
    { id: "a", key: Buffer.alloc(32, 250) },
    { id: "b", key: base64 },
    { id: "c", key: base64url },
  ];
  for (const ring of [readKeys(keys), readKeys(` a:${base64},\nb:${base64} c:${base64url}\n`)]) {
    expect([...ring.keys()]).toEqual(["a", "b", "c"]);
    expect([...ring.values()].map((key) => key.export().toString("base64"))).toEqual([
      base64,
      base64,
      base64,
    ]);
  }
});

test("what is no key is refused with what is wrong, and is not repeated", () => {
  const refused: readonly (readonly [readonly EncryptionKey[] | string, string])[] = [
    [[], "Give at least one"],
    ["", "Give at least one"],
    ["topsecret", "Key 1 does not have the form ID:BASE64"],
    ["a:topsecret", 'Key "a" is not 32 bytes in base64'],
    [`a:${base64},a:${base64}`, 'Two keys have the id "a"'],
    [`topsecret!:${base64}`, "Key 1 needs an id of 1 to 32"],
    [[{ id: "x".repeat(33), key: base64 }], "Key 1 needs an id of 1 to 32"],
    [[{ id: "a", key: Buffer.alloc(16) }], 'Key "a" has 16 bytes instead of 32'],
    // From plain JavaScript.
    [[{ id: "a", key: 1 as unknown as string }], 'Key "a" is neither bytes nor base64 text'],
  ];
  for (const [given, problem] of refused) {
    expect(() => readKeys(given)).toThrow(expect.objectContaining({ code: "configuration" }));
    expect(() => readKeys(given)).toThrow(problem);
    expect(() => readKeys(given)).not.toThrow("topsecret");
  }
});
