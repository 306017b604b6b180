import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { newReference, readReference } from "../../../src/server/named-tasks.ts";

it("makes references of clear letters, and reads them with any spacing and case", () => {
  const made = Array.from({ length: 2_000 }, () => newReference(randomBytes));
  for (const reference of made) {
    expect(reference).toMatch(/^[2-9A-HJKMNP-TV-Z]{4}-[2-9A-HJKMNP-TV-Z]{4}$/);
    const loose = ` ${reference.toLowerCase().replace("-", "")} `;
    expect([readReference(reference), readReference(loose)]).toEqual([reference, reference]);
  }
  expect(new Set(made).size).toBe(made.length);
  // Each letter is as likely as any other.
  const counts = new Map<string, number>();
  for (const letter of made.join("").replaceAll("-", "")) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  expect(counts.size).toBe(30);
  for (const count of counts.values()) expect(Math.abs(count - 16_000 / 30)).toBeLessThan(150);
});

it.each(["", "K7QM", "K7QM-2XW0", "K7QM-2XWDD", "K7QM_2XWD", "ÄÖÜ2-2XWD"])(
  "does not read %o as a reference",
  (typed) => {
    expect(readReference(typed)).toBeUndefined();
  },
);
