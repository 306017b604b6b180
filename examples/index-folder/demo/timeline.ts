import { count, counted } from "../wording.ts";
import type { Evidence } from "./proof.ts";
import type { Kill } from "./story.ts";

/** What happened when: from the journal, the log of the reads, and what the demo itself did. */
export function timeline(evidence: Evidence, { startedAt, killedAt, restartedAt }: Kill): string[] {
  const { reads, killedPid, journalAtKill, journal } = evidence;
  const begun = reads.filter(({ event }) => event === "begin");
  const before = begun.filter(({ pid }) => pid === killedPid);
  const after = begun.filter(({ pid }) => pid !== killedPid);
  const doneAt = (key: string): number | null =>
    journal.entries.find((entry) => entry.key === key)?.doneAt ?? null;
  const finished = journalAtKill.files.size;
  const moments: [at: number | null | undefined, text: string][] = [
    [startedAt, `first server up, pid ${killedPid}`],
    [journal.createdAt, "task on disk, its id handed out"],
    [doneAt("list"), `${counted(evidence.listed.length, "file")} listed`],
    [before.at(0)?.at, "first read"],
    [
      killedAt,
      `SIGKILL: ${counted(finished, "file")} in the journal, ${count(before.length - finished)} in flight`,
    ],
    [restartedAt, "second server up"],
    [after.at(0)?.at, `first read of attempt ${journal.attempt}`],
    [after.at(-1)?.at, "last read"],
    [doneAt("write_report"), "question answered"],
    [doneAt("write_report_file"), "report written"],
    [journal.finishedAt, "task completed"],
  ];
  return moments
    .flatMap(([at, text]) => (at == null ? [] : [{ at, text }]))
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, text }) => `${((at - startedAt) / 1000).toFixed(2).padStart(6)} s  ${text}`);
}
