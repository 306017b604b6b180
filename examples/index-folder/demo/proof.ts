import { isDeepStrictEqual } from "node:util";
import { count, counted } from "../wording.ts";
import type { Journal } from "./journal.ts";
import type { ReadEvent } from "./read-log.ts";

/** What the demo knows at the end. */
export interface Evidence {
  /** The files that the tool listed. */
  readonly listed: readonly string[];
  readonly reads: readonly ReadEvent[];
  /** The server that was killed. */
  readonly killedPid: number;
  readonly journalAtKill: Journal;
  readonly journal: Journal;
}

export interface Claim {
  readonly holds: boolean;
  readonly text: string;
}

/** What the journal and the reads have to agree on. */
export function prove({ listed, reads, killedPid, journalAtKill, journal }: Evidence): Claim[] {
  const begun = reads.filter(({ event }) => event === "begin");
  const before = begun.filter(({ pid }) => pid === killedPid).map(({ path }) => path);
  const after = begun.filter(({ pid }) => pid !== killedPid).map(({ path }) => path);
  const acknowledged = reads.filter(({ pid, event }) => pid === killedPid && event === "kept");
  const finished = journalAtKill.files;
  const finishedTwice = after.filter((path) => finished.has(path));
  const inFlight = before.filter((path) => !finished.has(path));
  const total = counted(listed.length, "file");
  return [
    {
      holds: journal.fileEntries === listed.length && listed.every((path) => journal.files.has(path)),
      text: `${total} listed, ${count(journal.fileEntries)} in the journal: one entry for each.`,
    },
    {
      holds:
        finishedTwice.length === 0 &&
        acknowledged.every(({ path }) => finished.has(path)) &&
        [...finished].every(([path, row]) => isDeepStrictEqual(journal.files.get(path), row)),
      text: `${counted(finished.size, "file")} finished before the kill, ${count(finishedTwice.length)} of them read again; their entries did not change.`,
    },
    {
      holds: sameSet(readTwice(before, after), inFlight),
      text: `${counted(inFlight.length, "file")} in flight at the kill: unfinished, so read again.`,
    },
    {
      holds: begun.length === listed.length + inFlight.length && isOnce(before) && isOnce(after),
      text: `${counted(before.length, "read")} before and ${count(after.length)} after: ${count(begun.length)} in all, for ${total} and ${count(inFlight.length)} in flight.`,
    },
  ];
}

function readTwice(before: readonly string[], after: readonly string[]): string[] {
  const again = new Set(after);
  return before.filter((path) => again.has(path));
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return isDeepStrictEqual(new Set(a), new Set(b));
}

function isOnce(paths: readonly string[]): boolean {
  return new Set(paths).size === paths.length;
}
