import type { TaskStore } from "../../store/store.ts";
import type { InputAnswer, InputRequest } from "../../task/input.ts";
import type { TaskRecord } from "../../task/record.ts";

/** The open questions of a task that `answers` are to: only these are read, of however many that are open. */
export async function openQuestions(
  store: TaskStore,
  task: TaskRecord,
  answers: readonly InputAnswer[],
): Promise<readonly InputRequest[]> {
  if (task.openInputs === 0) return [];
  const keys = new Set(answers.map(({ key }) => key));
  // Whoever names more keys than there are questions does not get one read for each.
  if (keys.size > task.openInputs) return (await store.snapshot(task.id))?.inputs ?? [];
  const entries = await Promise.all([...keys].map((key) => store.journalEntry(task.id, key)));
  return entries.flatMap((entry) => {
    if (entry === undefined || entry.kind !== "input" || entry.doneAt !== null) return [];
    return entry.method === null
      ? []
      : [{ key: entry.key, method: entry.method, params: entry.request ?? "{}" }];
  });
}
