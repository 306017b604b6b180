// Writes to a database whose log cannot be synced for a while: node fail-fsync.ts PATH
// An fsync fails for good only on hardware that does. Here the writer's descriptor of its log is made to lead to
// /dev/null, which takes every write and refuses every fsync. Prints `kept NAME` or `lost NAME REASON`.
import { closeSync, openSync, readdirSync, readlinkSync } from "node:fs";
import { startWriterThread, Writer } from "../../src/store/sqlite/writer.ts";
import { createQueued } from "../contract/sample-task.ts";

const path = process.argv[2] ?? "";

function descriptorOf(file: string): number {
  const found = readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === file;
    } catch {
      return false; // the one that lists the directory is gone by now
    }
  });
  if (found.length !== 1) throw new Error(`${found.length} descriptors of ${file}`);
  return Number(found[0]);
}

/** Makes descriptor `fd` lead elsewhere: the lowest free number is given to what is opened next. */
function redirect(fd: number, file: string): void {
  closeSync(fd);
  const others: number[] = [];
  for (let opened = openSync(file, "r+"); opened !== fd; opened = openSync(file, "r+")) others.push(opened);
  for (const other of others) closeSync(other);
}

async function writeGroup(names: readonly string[]): Promise<void> {
  const ends = await Promise.allSettled(names.map((name) => writer.write(createQueued(name))));
  for (const [n, end] of ends.entries()) {
    console.log(end.status === "fulfilled" ? `kept ${names[n]}` : `lost ${names[n]} ${String(end.reason)}`);
  }
}

const told: string[] = [];
const writer = await Writer.start(
  startWriterThread({
    path,
    owner: { id: "owner", handlers: [] },
    busyTimeoutMs: 1_000,
    maxBytes: null,
    migrate: true,
  }),
  (changes) => {
    told.push(...changes.map(({ id }) => id));
  },
);
await writeGroup(["a", "b"]);
redirect(descriptorOf(`${path}-wal`), "/dev/null");
await writeGroup(["c", "d"]);
await writeGroup(["e", "f"]);
await writer.stop();
console.log(`told ${told.join(" ")}`);
