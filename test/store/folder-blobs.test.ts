import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { folderBlobs, type Blobs } from "holdfast/store";
import { expect, it, onTestFinished } from "vitest";
import { sampleBytes } from "../kit/sample-bytes.ts";

async function opened(): Promise<{ readonly blobs: Blobs; readonly root: string }> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-blobs-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const root = join(folder, "made", "here");
  return { blobs: folderBlobs(root), root };
}

async function listed(blobs: Blobs, prefix: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const name of blobs.list(prefix)) names.push(name);
  return names.toSorted();
}

it("keeps blobs as files that only this user may read", async () => {
  const { blobs, root } = await opened();
  expect(await listed(blobs, "s/")).toEqual([]);
  await expect(blobs.get("s/task/a.0")).rejects.toThrow("ENOENT"); // perhaps a disk that is not there
  const data = sampleBytes(300_000);
  await blobs.put("s/task/a.0", sampleBytes(10));
  await blobs.put("s/task/a.0", data);
  await blobs.put("s/task/a.1", new Uint8Array());
  await blobs.put("t/task/a.0", data);
  expect(Buffer.compare((await blobs.get("s/task/a.0")) ?? new Uint8Array(), data)).toBe(0);
  expect((await blobs.get("s/task/a.1"))?.length).toBe(0);
  expect([await blobs.get("s/task/a.2"), await blobs.get("s/other/a.0")]).toEqual([undefined, undefined]);
  expect(await listed(blobs, "s/")).toEqual(["s/task/a.0", "s/task/a.1"]);
  if (process.platform === "win32") return;
  const modeOf = async (path: string): Promise<number> => (await stat(join(root, path))).mode & 0o777;
  expect([await modeOf("s/task/a.0"), await modeOf("s/task"), await modeOf(".")]).toEqual([
    0o600, 0o700, 0o700,
  ]);
});

it("deletes blobs, the folders that they leave empty, and what a crash has left of one", async () => {
  const { blobs, root } = await opened();
  await blobs.put("s/task/a.0", sampleBytes(10));
  await writeFile(join(root, "s/task/.half.tmp"), "half");
  expect(await listed(blobs, "s/")).toEqual(["s/task/.half.tmp", "s/task/a.0"]);
  await blobs.delete("s/task/a.0");
  await blobs.delete("s/task/.half.tmp");
  await blobs.delete("s/task/.half.tmp");
  expect(await readdir(join(root, "s"))).toEqual([]);
  await blobs.put("s/task/a.0", sampleBytes(10));
  expect((await blobs.get("s/task/a.0"))?.length).toBe(10);
});

it("rejects where it cannot tell whether there is a blob", async () => {
  const { blobs, root } = await opened();
  await mkdir(join(root, "s/task/a.0"), { recursive: true });
  await expect(blobs.get("s/task/a.0")).rejects.toThrow("EISDIR");
  await writeFile(join(root, "t"), "");
  await expect(blobs.put("t/task/a.0", new Uint8Array())).rejects.toThrow("ENOTDIR");
});
