import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { retryWhileInUse } from "../../../src/client/auth/file-logins.ts";
import { FakeClock } from "../fake-clock.ts";
import { folderForHandles } from "./folder.ts";

/** Renames as Windows does: not while others have one of the files open. */
function renaming(refusals: number, code = "EPERM"): { rename: typeof rename; tries: () => number } {
  let tries = 0;
  return {
    tries: () => tries,
    rename: async (from, to) => {
      tries++;
      if (tries <= refusals) throw Object.assign(new Error(`${code}: rename`), { code });
      await rename(from, to);
    },
  };
}

async function twoFiles(): Promise<{ folder: string; from: string; to: string }> {
  const folder = await folderForHandles();
  await mkdir(folder, { recursive: true });
  const [from, to] = [join(folder, "new"), join(folder, "old")];
  await writeFile(from, "new");
  await writeFile(to, "old");
  return { folder, from, to };
}

it.each(["EPERM", "EACCES", "EBUSY"])(
  "goes on once others have closed the file on Windows: %s",
  async (code) => {
    const { folder, from, to } = await twoFiles();
    const windows = renaming(3, code);
    const clock = new FakeClock();
    await retryWhileInUse(() => windows.rename(from, to), { platform: "win32", clock });
    expect(await readFile(to, "utf8")).toBe("new");
    expect(await readdir(folder)).toEqual(["old"]);
    expect(clock.naps).toEqual([10, 20, 40]);
  },
);

it("gives up with the error where the file stays open, or cannot be replaced at all", async () => {
  const { from, to } = await twoFiles();
  const windows = renaming(Infinity);
  const clock = new FakeClock();
  const given = { platform: "win32", clock } as const;
  await expect(retryWhileInUse(() => windows.rename(from, to), given)).rejects.toMatchObject({
    code: "EPERM",
  });
  expect(windows.tries()).toBe(clock.naps.length + 1);
  expect(await readFile(to, "utf8")).toBe("old");
});

it("does not try again elsewhere, nor for another error", async () => {
  const { from, to } = await twoFiles();
  const clock = new FakeClock();
  const refused = renaming(1);
  const elsewhere = retryWhileInUse(() => refused.rename(from, to), { platform: "darwin", clock });
  await expect(elsewhere).rejects.toMatchObject({ code: "EPERM" });
  const full = renaming(1, "ENOSPC");
  const onWindows = retryWhileInUse(() => full.rename(from, to), { platform: "win32", clock });
  await expect(onWindows).rejects.toMatchObject({ code: "ENOSPC" });
  expect(clock.naps).toEqual([]);
});
