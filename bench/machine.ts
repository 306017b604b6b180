import { open, statfs } from "node:fs/promises";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { median } from "./statistics.ts";

/** What the figures depend on. */
export interface Machine {
  readonly date: string;
  readonly node: string;
  readonly platform: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  /** Of the folder with the databases. */
  readonly fileSystem: string;
  /** The median time of some small writes until they are on disk. */
  readonly fsyncMs: number;
  /** The average of the minute before the run; near 0 on an otherwise idle machine. */
  readonly loadAverage: number;
}

/** Names for the types of statfs(2), on Linux. */
const fileSystems: Readonly<Record<number, string>> = {
  0xef53: "ext4",
  0x58465342: "xfs",
  0x9123683e: "btrfs",
  0x2fc12fc1: "zfs",
  0x794c7630: "overlay",
  0x6969: "nfs",
  0x01021994: "tmpfs (in memory: a commit costs nothing)",
};

async function fsyncMs(folder: string): Promise<number> {
  const file = await open(join(folder, "fsync"), "w");
  const found: number[] = [];
  for (let n = 0; n < 50; n++) {
    await file.write(Buffer.alloc(4_096, n));
    const begin = performance.now();
    await file.datasync();
    found.push(performance.now() - begin);
  }
  await file.close();
  return median(found);
}

export async function describeMachine(folder: string): Promise<Machine> {
  const { type } = await statfs(folder);
  return {
    date: new Date().toISOString().slice(0, 16).replace("T", " "),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    fileSystem: fileSystems[type] ?? `type 0x${type.toString(16)}`,
    fsyncMs: await fsyncMs(folder),
    loadAverage: loadavg()[0] ?? 0,
  };
}
