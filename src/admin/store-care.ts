import type { FailureCauses } from "../store/admin-store.ts";
import type { TaskStore } from "../store/store.ts";
import type { FailedTask } from "../store/tables/task.ts";
import type { TaskRecord } from "../task/record.ts";
import { adminOf } from "./admin-store-of.ts";
import { recordAction, type RecordServices, forgetPerson, personOf, personNow } from "./record-reads.ts";
import { newestTasks } from "./select-tasks.ts";
import { readSecret, secretNames } from "../runtime/secrets.ts";
import { HoldfastError } from "../task/fault.ts";
import { deliveriesKeptMs } from "../task/delivery.ts";
import { exportJournal, type JournalRecording } from "../store/export-journal.ts";
import { shownLine, type LineList } from "../task/task-line.ts";
import type { ShownLine, TaskSelection } from "./admin.ts";
import { isBlobName, type BlobCopies } from "../store/blobs.ts";
import { folderBlobs, folderOf, foldersIn } from "../runtime/blobs/artifact-blobs.ts";

// What the command line does with a whole store, beside the operations: it erases a person, deletes what has expired, exports, and copies the
// files that are kept elsewhere.

export interface EndServices extends RecordServices {
  readonly pause: (ms: number) => Promise<void>;
}

/** How often to check whether the tasks have ended. */
const lookEveryMs = 250;

/**
 * Records that everything about a principal is to be deleted, without saying whose that is, and cancels all its unfinished tasks. Notifies
 * running handlers first, and gives them `graceMs` to end by themselves. Then nothing recorded can be found by the principal's name; false:
 * all of it still can, because the store is encrypted and its keys are not here.
 */
export async function endTasksOf(
  services: EndServices,
  principal: string,
  graceMs: number,
): Promise<boolean> {
  const { store, now, pause } = services;
  const person = await personOf(services, principal);
  await recordAction(services, "erase", person === null ? {} : { person });
  const { others } = await store.renew();
  const deadline = now() + (others > 0 ? graceMs : 0); // no other process runs them
  for (;;) {
    let isRunning = false;
    const isLate = now() >= deadline;
    for await (const { id, state } of unfinishedOf(store, principal)) {
      if (state !== "running" || isLate) {
        const statusMessage = "Cancelled because its caller's data is being deleted.";
        await store.write<"cancel">({ type: "cancel", now: now(), id, statusMessage });
        continue;
      }
      await store.write({ type: "request_cancel", now: now(), id, cancelBy: deadline });
      isRunning = true;
    }
    if (!isRunning) break;
    await pause(lookEveryMs);
  }
  await forgetNotes(services, principal);
  return forgetPerson(services, principal);
}

/** Empties what operators have noted on causes of failures that name the principal, or by which only its tasks failed. */
async function forgetNotes({ store, now }: EndServices, principal: string): Promise<void> {
  const { causes } = adminOf(store);
  const letters = principal.replaceAll(/./gsu, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);
  const name = new RegExp(String.raw`(?<![\p{L}\p{N}])${letters}(?![\p{L}\p{N}])`, "iu");
  for (const mark of await causes.marks()) {
    if (mark.note === null) continue;
    if (name.test(mark.note) || (await failedOnlyFor(causes, mark.cause, principal)))
      await store.write({ type: "mark_cause", now: now(), mark: { ...mark, note: null } });
  }
}

async function failedOnlyFor(causes: FailureCauses, cause: string, principal: string): Promise<boolean> {
  for (let last: string | null = null; ;) {
    const failed: readonly FailedTask[] = await causes.failed(last, atOnce, cause);
    if (failed.some((task) => task.principal !== principal)) return false;
    if (failed.length < atOnce) return failed.length > 0 || last !== null;
    last = failed.at(-1)?.id ?? null;
  }
}

async function* unfinishedOf(store: TaskStore, principal: string): AsyncGenerator<TaskRecord> {
  const states = ["queued", "waiting", "running", "input_required", "blocked"] as const;
  for await (const page of newestTasks(adminOf(store), { principal, states }, Infinity)) yield* page;
}

/** The number of deletions in one write. Servers can write in between. */
const atOnce = 200;

/** How many were deleted. */
export interface DeletedExpired {
  readonly tasks: number;
  readonly sessions: number;
  readonly deliveries: number;
}

/**
 * Deletes expired finished tasks, sessions, webhook messages and versions of secrets, as servers do. Includes messages for webhooks that no
 * server has any more.
 */
export async function deleteExpired(store: TaskStore, now: number): Promise<DeletedExpired> {
  const tasks = await repeated(async () => {
    const { deleted } = await store.write<"delete_expired">({ type: "delete_expired", now, limit: atOnce });
    return deleted.length;
  });
  for (let isLeft = true; isLeft;) isLeft = (await store.pieces?.deleteLeft?.()) ?? false;
  const sessions = await repeated(async () => (await store.sessions?.deleteExpired(now, atOnce)) ?? 0);
  const deliveries = store.outbox === undefined ? 0 : await repeated(() => dropDeliveries(store, now));
  await deleteVersions(store, now);
  return { tasks, sessions, deliveries };
}

/** An operator without the keys of an encrypted store leaves that to its servers. */
async function deleteVersions(store: TaskStore, now: number): Promise<void> {
  try {
    for (const name of secretNames) await readSecret(store, name, now);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "configuration") throw error;
  }
}

async function dropDeliveries(store: TaskStore, now: number): Promise<number> {
  const old = { most: Number.MAX_SAFE_INTEGER, before: now - deliveriesKeptMs, limit: atOnce };
  const { dropped } = await store.write<"trim_deliveries">({ type: "trim_deliveries", now, ...old });
  return dropped;
}

async function repeated(deleteSome: () => Promise<number>): Promise<number> {
  for (let sum = 0; ;) {
    const count = await deleteSome();
    sum += count;
    if (count < atOnce) return sum;
  }
}

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

/** The blobs in a folder of `folderBlobs`, of all stores that keep theirs there: no two have a task of the same id. */
export function blobCopiesIn(path: string): BlobCopies {
  const blobs = folderBlobs(path);
  return {
    async *of(task) {
      for (const store of await foldersIn(path)) {
        for await (const name of blobs.list(`${store}/${folderOf(task)}/`)) {
          const data = isBlobName(name) ? await blobs.get(name) : undefined;
          if (data !== undefined) yield { name, data };
        }
      }
    },
    put: ({ name, data }) => blobs.put(name, data),
  };
}
