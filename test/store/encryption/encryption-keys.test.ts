import { expect, test } from "vitest";
import { readKeys, type EncryptionKey } from "../../../src/store/encryption/encryption-keys.ts";

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
    [[], "There are none"],
    ["", "There are none"],
    ["topsecret", "Number 1 is not of the form ID:KEY"],
    ["a:topsecret", '"a" is not the base64 of 32 bytes'],
    [`a:${base64},a:${base64}`, 'Two of them have the id "a"'],
    [`topsecret!:${base64}`, "Number 1 has no id of 1 to 32"],
    [[{ id: "x".repeat(33), key: base64 }], "Number 1 has no id of 1 to 32"],
    [[{ id: "a", key: Buffer.alloc(16) }], '"a" has 16 bytes and not 32'],
    // From plain JavaScript.
    [[{ id: "a", key: 1 as unknown as string }], '"a" is neither bytes nor base64'],
  ];
  for (const [given, problem] of refused) {
    expect(() => readKeys(given)).toThrow(expect.objectContaining({ code: "configuration" }));
    expect(() => readKeys(given)).toThrow(problem);
    expect(() => readKeys(given)).not.toThrow("topsecret");
  }
});
