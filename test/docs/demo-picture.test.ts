import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import type { Journal, JournalRow } from "../../examples/index-folder/demo/journal.ts";
import { drawDemo } from "../../scripts/demo-picture.ts";

const row = (key: string, doneAt: number, value = "{}"): JournalRow => ({ place: 0, key, value, doneAt });

function journalOf(...files: string[]): Journal {
  const entries = [row("list", 110), row("write_report", 900)];
  const rows = files.map((file) => [file, row(`["file","${file}"]`, 200)] as const);
  return {
    createdAt: 100,
    finishedAt: 1_000,
    attempt: 2,
    entries,
    files: new Map(rows),
    fileEntries: rows.length,
  };
}

it("draws a bar for each read, by what became of it", () => {
  const svg = drawDemo(
    {
      listed: ["a", "<b>"],
      reads: [
        { pid: 1, at: 120, event: "begin", path: "a" },
        { pid: 1, at: 130, event: "begin", path: "<b>" },
        { pid: 1, at: 200, event: "kept", path: "a" },
        { pid: 2, at: 700, event: "begin", path: "<b>" },
        { pid: 2, at: 800, event: "kept", path: "<b>" },
      ],
      killedPid: 1,
      journalAtKill: journalOf("a"),
      journal: journalOf("a", "<b>"),
    },
    { pid: 1, startedAt: 0, killedAt: 500, restartedAt: 600, journal: journalOf("a") },
  );
  expect(svg).toContain("1 in the journal, never read again");
  expect(svg).toContain("1 interrupted, read again");
  expect(svg).toContain("1 read after the restart");
  expect(svg).not.toContain("NaN");
});

it("shows in the README a picture for light pages and for dark ones", async () => {
  const [readme = "", svg = ""] = await Promise.all(
    ["README.md", "docs/demo.svg"].map((path) => readFile(new URL(`../../${path}`, import.meta.url), "utf8")),
  );
  expect(readme).toContain("(docs/demo.svg)");
  expect(svg).toContain("prefers-color-scheme: dark");
  expect(svg).toContain("SIGKILL");
});
