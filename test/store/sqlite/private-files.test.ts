import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sqliteStore } from "holdfast/sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { filesAtRisk } from "../../../src/store/sqlite/private-files.ts";
import { lockOwner } from "../../../src/store/sqlite/sqlite-owners.ts";
import { runMain } from "../../cli/run-main.ts";
import { folder } from "../../cli/run-cli.ts";

const isRoot = process.getuid?.() === 0;
const other = 65_534;

const modeOf = (path: string): number => statSync(path).mode & 0o7777;

/** The modes of everything below a folder, by what it is. */
function modesIn(path: string): { readonly files: Set<number>; readonly folders: Set<number> } {
  const entries = readdirSync(path, { withFileTypes: true, recursive: true });
  const modes = (isFolder: boolean): Set<number> =>
    new Set(
      entries
        .filter((entry) => entry.isDirectory() === isFolder)
        .map((entry) => modeOf(join(entry.parentPath, entry.name))),
    );
  return { files: modes(false), folders: modes(true) };
}

function withUmask(mask: number): void {
  const before = process.umask(mask);
  onTestFinished(() => void process.umask(before));
}

async function open(path: string, options: Parameters<typeof sqliteStore>[1] = {}): Promise<void> {
  const store = sqliteStore(path, options);
  await store.open({ id: "a", handlers: [] });
  onTestFinished(async () => store.close());
}

function warnings(): string[] {
  const said: string[] = [];
  const spy = vi
    .spyOn(process, "emitWarning")
    .mockImplementation((warning) => void said.push(String(warning)));
  onTestFinished(() => spy.mockRestore());
  return said;
}

describe.skipIf(process.platform === "win32")("the files of a store", () => {
  it.each([
    [undefined, 0o000, 0o600, 0o700],
    [undefined, 0o077, 0o600, 0o700],
    [0o660, 0o077, 0o660, 0o770],
  ] as const)("have their mode whatever the umask (%s, %s)", async (fileMode, umask, file, entered) => {
    withUmask(umask);
    const top = await folder();
    const path = join(top, "made", "deep", "t.db");
    await open(path, fileMode === undefined ? {} : { fileMode });
    expect(readdirSync(join(top, "made", "deep")).length).toBeGreaterThan(4);
    expect(modesIn(top)).toEqual({ files: new Set([file]), folders: new Set([entered]) });
  });

  it("keep the mode that they have, and their locks are for those who can write them", async () => {
    withUmask(0o000);
    const said = warnings();
    const top = await folder();
    const path = join(top, "t.db");
    writeFileSync(path, "");
    chmodSync(path, 0o644);
    await open(path, { fileMode: 0o660 });
    expect(["", "-wal", "-shm", ".lock", ".owners"].map((end) => modeOf(path + end))).toEqual([
      0o644, 0o644, 0o644, 0o600, 0o700,
    ]);
    expect(modesIn(`${path}.owners`).files).toEqual(new Set([0o600]));
    expect(said).toEqual([expect.stringContaining(`everybody can read ${path}`)]);
  });

  it("belong to the group of a folder that gives it to them", async () => {
    const shared = join(await folder(), "shared");
    mkdirSync(shared);
    chmodSync(shared, 0o2770);
    const made = join(shared, "made");
    await open(join(made, "t.db"), { fileMode: 0o660 });
    expect(modesIn(shared).folders).toEqual(new Set([0o2770]));
  });

  it("may stand in a folder that others can change, with one warning, unless that is refused", async () => {
    const said = warnings();
    const shared = await folder();
    chmodSync(shared, 0o1777);
    const path = join(shared, "t.db");
    const strict = sqliteStore(path, { strictFiles: true });
    await expect(strict.open({ id: "a", handlers: [] })).rejects.toMatchObject({
      code: "store_unusable",
      message: expect.stringContaining(`everybody can change the folder ${shared}`),
    });
    expect(readdirSync(shared)).toEqual([]);
    const store = sqliteStore(path);
    await store.open({ id: "a", handlers: [] });
    await store.close();
    expect(said).toEqual([expect.stringContaining(`everybody can change the folder ${shared}`)]);
    const { stdout, code } = await runMain(["doctor", `sqlite:${path}`]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^files +no +everybody can change the folder /);
  });

  it("are as they should be in a private folder", async () => {
    const said = warnings();
    const path = join(await folder(), "t.db");
    await open(path, { strictFiles: true });
    expect(said).toEqual([]);
    const { stdout } = await runMain(["doctor", "--json", `sqlite:${path}`]);
    expect(JSON.parse(stdout)).toMatchObject({
      store: `sqlite:${path}`,
      checks: [{ check: "files", works: true }],
    });
  });

  it.runIf(isRoot)("are told from those of other users", async () => {
    const top = await folder();
    const path = join(top, "t.db");
    writeFileSync(path, "", { mode: 0o600 });
    writeFileSync(`${path}-wal`, "", { mode: 0o600 });
    chownSync(`${path}-wal`, other, other);
    expect(filesAtRisk(path)).toEqual([`${path}-wal belongs to the user ${other}`]);
    chownSync(path, other, 7);
    chmodSync(path, 0o660);
    chownSync(`${path}-wal`, 0, 0);
    expect(filesAtRisk(path, 0o600)).toEqual([`${path} belongs to the user ${other}`]);
    expect(filesAtRisk(path, 0o660)).toEqual([]);
    chownSync(top, other, other);
    expect(filesAtRisk(path, 0o660)).toEqual([`the folder ${top} belongs to the user ${other}`]);
  });

  it("may stand in a folder of the user's own group", async () => {
    const top = await folder();
    chmodSync(top, 0o770);
    const { uid, gid } = statSync(top);
    expect(filesAtRisk(join(top, "t.db"))).toEqual(
      uid === gid ? [] : [`the group ${gid} can change the folder ${top}`],
    );
    if (!isRoot) return;
    chownSync(top, 0, 7);
    expect(filesAtRisk(join(top, "t.db"))).toEqual([`the group 7 can change the folder ${top}`]);
    expect(filesAtRisk(join(top, "t.db"), 0o660)).toEqual([]);
  });

  it("gives no lock to those who can only read", async () => {
    withUmask(0o000);
    const path = join(await folder(), "t.db");
    writeFileSync(path, "", { mode: 0o644 });
    lockOwner(path, "a").release();
    const lock = lockOwner(path, "b");
    onTestFinished(() => lock.release());
    expect(modeOf(join(`${path}.owners`, "b"))).toBe(0o600);
  });
});
