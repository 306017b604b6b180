import type { TaskStore, ListedEntry } from "../../store/store.ts";
import type { JournalEnd, JournalEntry } from "../../task/journal.ts";
import { HoldfastError } from "../../task/fault.ts";

/**
 * What a task that takes up another one begins with.
 * - Whatever succeeded is kept, also after an entry that failed: a branch beside it may have paid.
 * - What failed, or had not ended, is left out and runs again. A loop goes on with the round in which it was.
 * - A replay follows the order in which the entries ended.
 */

/** The maximum size of the entries that a task begins with, since they are stored in one write. */
const mostBytes = 16 * 1024 * 1024;

const entriesPerPage = 500;

/** The number of bytes to read at a time, unless a single end is larger. */
const pageBytes = 1024 * 1024;

/** A task's entries that succeeded, of those that `isMeant` accepts. Rejects with `too_large` if one write cannot hold them. */
export async function finishedEntries(
  store: Pick<TaskStore, "journal" | "journalEnds" | "journalEntry">,
  id: string,
  isMeant: (key: string) => boolean = () => true,
): Promise<readonly JournalEntry[]> {
  const listed: ListedEntry[] = [];
  let bytes = 0;
  for (let from: string | null = ""; from !== null;) {
    const page: Awaited<ReturnType<TaskStore["journal"]>> = await store.journal(id, from, entriesPerPage);
    const ended = page.entries.filter(
      ({ key, kind, doneAt }) => (doneAt !== null || kind === "loop") && isMeant(key),
    );
    bytes += ended.reduce((sum, each) => sum + each.bytes, 0);
    if (bytes > mostBytes) {
      const problem = `The finished steps of ${id} are larger than ${mostBytes} bytes, which is too much to begin another task with`;
      throw new HoldfastError("too_large", `${problem}. It can only run again from the start.`);
    }
    listed.push(...ended);
    from = page.next;
  }
  listed.sort((a, b) => (a.doneVersion ?? 0) - (b.doneVersion ?? 0) || a.place - b.place);
  const entries: JournalEntry[] = [];
  for (const page of pagesOf(listed)) {
    const ends = new Map(
      (
        await store.journalEnds(
          id,
          page.map(({ key }) => key),
        )
      ).map((end) => [end.key, end]),
    );
    for (const head of page) {
      const entry = await entryOf(store, id, head, ends.get(head.key));
      // One command ends all of them: the one that creates the task.
      if (entry?.error === null) entries.push(entry.doneAt === null ? entry : { ...entry, doneVersion: 1 });
    }
  }
  return entries;
}

function* pagesOf(listed: readonly ListedEntry[]): Generator<readonly ListedEntry[]> {
  for (let start = 0; start < listed.length;) {
    let end = start;
    for (let bytes = 0; end < listed.length && end - start < entriesPerPage; end++) {
      bytes += listed[end]?.bytes ?? 0;
      if (bytes > pageBytes && end > start) break;
    }
    yield listed.slice(start, end);
    start = end;
  }
}

/** Steps and sleeps have nothing besides their ends. */
async function entryOf(
  store: Pick<TaskStore, "journalEntry">,
  id: string,
  { place: _, bytes: __, ...head }: ListedEntry,
  end: JournalEnd | undefined,
): Promise<JournalEntry | undefined> {
  if (head.kind !== "step" && head.kind !== "sleep") return store.journalEntry(id, head.key);
  return end && { ...head, ...end, request: null };
}
