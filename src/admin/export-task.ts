import { exportJournal, type JournalRecording } from "../store/export-journal.ts";
import type { TaskStore } from "../store/store.ts";
import { shownLine, type LineList } from "../task/task-line.ts";
import type { ShownLine, TaskSelection } from "./admin.ts";
import { personNow } from "./record-reads.ts";
import { recordAction, type RecordServices } from "./record-action.ts";

/** Everything stored about a task, as plain JSON data. */
export interface ExportedTask extends JournalRecording {
  readonly statusMessage: string | null;
  /** Epoch ms. */
  readonly startedAt: number | null;
  readonly updatedAt: number;
  readonly finishedAt: number | null;
  readonly log: readonly ShownLine[];
  readonly output: readonly ShownLine[];
}

const linesPerPage = 500;

/** Records by what the tasks were chosen that are exported, without names and texts. */
export async function exportBegins(
  services: RecordServices,
  selection: TaskSelection | { readonly id: string; readonly principal: string | null },
): Promise<void> {
  const { principal } = selection;
  const person = typeof principal === "string" ? { person: await personNow(services, principal) } : {};
  const by = Object.keys("id" in selection ? { id: true } : selection);
  await recordAction(services, "export", { by, ...person });
}

/** Rejects with `unknown_task` if there is no such task, and with `task_unreadable` if it is damaged. */
export async function exportTask(store: TaskStore, id: string): Promise<ExportedTask> {
  const recording = await exportJournal(store, id);
  const [log, output] = [await linesOf(store, id, "log"), await linesOf(store, id, "output")];
  const task = await store.get(id);
  const { statusMessage = null, startedAt = null, finishedAt = null } = task ?? {};
  const times = { startedAt, updatedAt: task?.updatedAt ?? recording.createdAt, finishedAt };
  return { ...recording, statusMessage, ...times, log, output };
}

async function linesOf(store: TaskStore, id: string, list: LineList): Promise<readonly ShownLine[]> {
  const shown: ShownLine[] = [];
  for (let after = 0; ;) {
    const lines = (await store.logs?.read(id, list, after, linesPerPage)) ?? [];
    shown.push(...lines.map(shownLine));
    if (lines.length < linesPerPage) return shown;
    after = lines.at(-1)?.seq ?? after;
  }
}
