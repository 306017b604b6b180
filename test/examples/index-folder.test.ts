import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ExampleProcess } from "./index-folder-process.ts";
import { Browser } from "../server/dashboard/browser.ts";
import { fillSampleFolder } from "./sample-folder.ts";

let parent = "";
let folder = "";
/** Where the demo puts what is its own: nothing may be left of it. */
let scratch = "";
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "holdfast-demo-test-"));
  folder = join(parent, "folder");
  scratch = join(parent, "scratch");
  await mkdir(folder);
  await mkdir(scratch);
});
afterEach(() => rm(parent, { recursive: true, force: true }));

function demo(...args: string[]): ExampleProcess {
  return new ExampleProcess("demo.ts", args, { env: { TMPDIR: scratch } });
}

function serversOf(output: string): number[] {
  return [...output.matchAll(/starts(?: again)?: pid (\d+)/g)].map(([, pid]) => Number(pid));
}

async function expectNothingLeft(output: string, servers: number): Promise<void> {
  const pids = serversOf(output);
  expect(pids).toHaveLength(servers);
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect(await readdir(scratch)).toEqual([]);
}

function claims(output: string): string[] {
  return output.split("\n").filter((line) => /^ {2}[✓✗] /.test(line));
}

describe("the demo", { timeout: 120_000 }, () => {
  it("finishes what it began before the kill, and reads no finished file again", async () => {
    const { files, words, bytes, copies } = await fillSampleFolder(folder, 60);
    const run = demo(folder);
    const [output, errors, code] = await Promise.all([run.stdout, run.stderr, run.ended()]);
    expect(errors).toBe("");
    expect(code).toBe(0);
    // oxlint-disable-next-line no-control-regex -- that there is none is the point
    expect(output).not.toMatch(/[\0-\t\v-\u001F\u007F]/);

    const size = `${(bytes / 1024).toFixed(1)} KiB`;
    expect(output).toContain(`│ | ${files} | ${words.toLocaleString("en-US")} | ${size} | ${copies} |`);
    const longest = await readFile(join(folder, "longest.txt"));
    const sha256 = createHash("sha256").update(longest).digest("hex").slice(0, 12);
    expect(output).toContain(`| 5,000 | ${sha256} | longest.txt |`);
    expect(output).toContain("| evil?\\|name\\|?\\[31m.txt |");
    expect(output).toContain("│ - 1 file larger than 1 MiB");
    expect(output).toContain("│ - 1 symbolic link");
    expect(output).toContain("│ - 1 folder by name");

    expect(claims(output)).toEqual([
      "  ✓ 60 files listed, 60 in the journal: one entry for each.",
      expect.stringMatching(/✓ \d+ files finished before the kill, 0 of them read again;/),
      expect.stringMatching(/✓ [1-9]\d* files? in flight at the kill: unfinished, so read again\./),
      expect.stringMatching(/✓ \d+ reads before and \d+ after: \d+ in all, for 60 files and \d+ in flight\./),
    ]);
    // Killed while it worked, neither before nor after.
    const [, finished] = /✓ (\d+) files finished/.exec(output) ?? [];
    expect(Number(finished)).toBeGreaterThanOrEqual(30);
    expect(Number(finished)).toBeLessThan(60);
    expect(output.trimEnd().split("\n").slice(-5)).toEqual([
      " 9  To try next:",
      expect.stringMatching(/^ {4}npm run demo -- FOLDER +the same/),
      expect.stringMatching(/^ {4}npm run demo -- --page +the same/),
      expect.stringMatching(/^ {4}npm start +serves/),
      expect.stringMatching(/^ {4}README\.md +a server and a client/),
    ]);
    await expectNothingLeft(output, 2);
  });

  it("shows it on a page that outlives the server", async () => {
    await fillSampleFolder(folder, 60);
    const run = demo(folder, "--page");
    const [text] = await run.printed(/http:\/\/\S+\?token=[\w-]{43}(?=\n)/);
    const link = new URL(text);
    const browser = new Browser(link.origin);
    expect((await browser.ask(`${link.pathname}${link.search}`)).status).toBe(303);
    expect((await browser.ask("/holdfast/")).status).toBe(200);
    await run.printed(/^ 4 {2}SIGKILL/m);
    const seen = (await (await browser.ask("/holdfast/api/tasks")).json()) as { tasks: readonly unknown[] };
    expect(seen.tasks).toMatchObject([{ tool: "index_folder" }]);
    expect(await run.ended()).toBe(0);
    await expect(browser.ask("/holdfast/")).rejects.toThrow();
    await expectNothingLeft(await run.stdout, 2);
  });

  it("says what it left out of a huge folder", async () => {
    await fillSampleFolder(folder, 60);
    const run = demo(folder, "--max-files", "10");
    expect(await run.ended()).toBe(0);
    const output = await run.stdout;
    expect(output).toContain("│ - 50 files beyond the first 10");
    expect(claims(output)[0]).toBe("  ✓ 10 files listed, 10 in the journal: one entry for each.");
  });

  it("comes to its end with nothing to read", async () => {
    const run = demo(folder);
    expect(await run.ended()).toBe(0);
    const output = await run.stdout;
    expect(claims(output)).toHaveLength(4);
    expect(output).not.toContain("✗");
    await expectNothingLeft(output, 2);
  });

  it("says that there is no such folder, and leaves nothing behind", async () => {
    const run = demo(join(folder, "missing"));
    expect(await run.ended()).toBe(1);
    expect(await run.stderr).toBe(`There is no folder ${join(folder, "missing")}.\n`);
    await expectNothingLeft(await run.stdout, 1);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("leaves nothing behind on %s", async (name, code) => {
    await fillSampleFolder(folder, 60);
    const run = demo(folder);
    await run.printed(/^ 3 /m);
    run.signal(name);
    expect(await run.ended()).toBe(code);
    await expectNothingLeft(await run.stdout, 1);
  });
});
