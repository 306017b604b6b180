import type { ListedEntry, TaskStore } from "../store/store.ts";
import type { JournalEntry } from "../task/journal.ts";

/** All entries on the pages of a task's journal, in the order of first writes. */
export async function listedJournal(store: TaskStore, id: string, limit = 3): Promise<ListedEntry[]> {
  const entries: ListedEntry[] = [];
  for (let from: string | null = ""; from !== null;) {
    const page = await store.journal(id, from, limit);
    entries.push(...page.entries);
    from = page.next;
  }
  return entries.sort((a, b) => a.place - b.place);
}

/** A task's journal, in the order of first writes. */
export async function wholeJournal(store: TaskStore, id: string): Promise<JournalEntry[]> {
  const listed = await listedJournal(store, id);
  const entries = await Promise.all(listed.map(({ key }) => store.journalEntry(id, key)));
  return entries.flatMap((entry) => entry ?? []);
}
