import type { TaskCommand } from "./command.ts";
import type { JournalEntry, JournalKind } from "./journal.ts";

/** The open inputs that these answers end, in the order of the answers: for each input, the first answer in time. */
export function takeAnswers(
  command: TaskCommand<"answer_inputs">,
  entry: (key: string) => JournalEntry | undefined,
): JournalEntry[] {
  const taken = new Map<string, JournalEntry>();
  for (const answer of command.answers) {
    const { key } = answer;
    const open = lasting("input", entry(key));
    if (open === undefined || taken.has(key)) continue;
    if (open.deadlineAt !== null && open.deadlineAt <= command.now) continue;
    const end = "error" in answer ? { error: answer.error } : { value: answer.value };
    taken.set(key, { ...open, ...end });
  }
  return [...taken.values()];
}

/** The entry, if it is of this kind and has not ended. */
export function lasting(kind: JournalKind, entry: JournalEntry | undefined): JournalEntry | undefined {
  return entry?.kind === kind && entry.doneAt === null ? entry : undefined;
}
