import { describe, expect, it } from "vitest";
import { EarlierEntries } from "../../src/runtime/journal/outside-ends.ts";
import { decodeValue } from "../../src/runtime/stored-values.ts";
import type { ListedEntry } from "../../src/store/store.ts";
import type { JournalEnd } from "../../src/task/journal.ts";

const kibibyte = 1024;
const asItIs = (end: JournalEnd): JournalEnd => end;

function entry(place: number, more: Partial<ListedEntry> = {}): ListedEntry {
  return {
    key: `k${place}`,
    kind: "step",
    method: null,
    requestHash: null,
    deadlineAt: null,
    tries: 0,
    begunAt: null,
    doneAt: 1,
    doneVersion: place + 2,
    place,
    bytes: 64 * kibibyte,
    ...more,
  };
}

/** Entries whose values are their keys, and the pages in which those were read. */
function entriesOf(listed: readonly ListedEntry[], values: Readonly<Record<string, string>> = {}) {
  const pages: (readonly string[])[] = [];
  const entries = new EarlierEntries("task-a", listed, async (keys) => {
    pages.push(keys);
    return keys
      .filter((key) => key !== "lost")
      .map((key): JournalEnd => ({ key, value: values[key] ?? JSON.stringify(key), error: null }));
  });
  return { entries, pages };
}

const seven = Array.from({ length: 7 }, (_, place) => entry(place));

describe("what earlier attempts journalled", () => {
  it("is read a page at a time, in the order of ends, whatever the order of the entries", async () => {
    const { entries, pages } = entriesOf(seven.toReversed());
    for (const each of seven)
      expect(await entries.read(each, asItIs)).toMatchObject({ value: `"${each.key}"` });
    expect(pages).toEqual([
      ["k0", "k1", "k2", "k3"],
      ["k4", "k5", "k6"],
    ]);
  });

  it("is read again where the handler comes to it out of order", async () => {
    const { entries, pages } = entriesOf(seven);
    for (const place of [4, 0, 5]) {
      expect(await entries.read(entry(place), asItIs)).toMatchObject({ value: `"k${place}"` });
    }
    expect(pages).toEqual([
      ["k4", "k5", "k6"],
      ["k0", "k1", "k2", "k3"],
      ["k5", "k6"],
    ]);
  });

  it("is read one by one once the handler begins something new", async () => {
    const { entries, pages } = entriesOf(seven);
    await entries.read(entry(0), asItIs);
    entries.stopReadingAhead();
    await entries.read(entry(1), asItIs);
    await entries.read(entry(2), asItIs);
    expect(pages.slice(1)).toEqual([["k1"], ["k2"]]);
  });

  it("is read in pages of no more than 200, without what has no text or has not ended", async () => {
    const many = Array.from({ length: 250 }, (_, place) => entry(place, { bytes: 1 }));
    const sleep = entry(1, { kind: "sleep", bytes: 0 });
    many[1] = sleep;
    many[2] = entry(2, { kind: "input", doneAt: null, doneVersion: null });
    const { entries, pages } = entriesOf(many);
    await entries.read(entry(0), asItIs);
    expect(pages[0]?.slice(0, 3)).toEqual(["k0", "k3", "k4"]);
    expect(pages[0]).toHaveLength(199);
    expect(await entries.read(sleep, asItIs)).toEqual({ key: "k1", value: null, error: null });
    await entries.read(entry(3), asItIs);
    expect(pages).toHaveLength(1);
  });

  it("is read by itself where it is larger than a page", async () => {
    const { entries, pages } = entriesOf([entry(0, { bytes: 300 * kibibyte }), entry(1)]);
    await entries.read(entry(0), asItIs);
    expect(pages).toEqual([["k0"]]);
  });

  it("is decoded as it is read, and a throw that it stands for is passed on", async () => {
    const { entries } = entriesOf(seven);
    const failed = new Error("how the step ended");
    const fails = (): never => {
      throw failed;
    };
    await expect(entries.read(entry(0), fails)).rejects.toBe(failed);
  });

  it.each([
    ["not JSON", { k0: "{" }, "k0", 'the journal entry "k0" is not JSON'],
    ["gone", {}, "lost", 'the journal entry "lost" is missing'],
  ])("cannot be read where it is %s", async (_, values, key, problem) => {
    const damaged = entry(0, { key });
    const { entries } = entriesOf([damaged], values);
    await expect(entries.read(damaged, ({ value }) => decodeValue(value))).rejects.toMatchObject({
      code: "task_unreadable",
      message: `Task task-a cannot be read: ${problem}.`,
    });
  });
});
