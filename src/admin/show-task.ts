import type { TaskStore } from "../store/store.ts";
import type { StoredAction, TaskRecord } from "../task/record.ts";
import type { StoredDelivery } from "../task/delivery.ts";
import type { JournalHead } from "../task/journal.ts";
import { shownLine, type LineList } from "../task/task-line.ts";
import type { AdminAction, ShownLine, TaskDelivery, TaskDetails, TimelineEntry } from "./admin.ts";
import { errorText, parsed, summaryOf } from "./summary.ts";

/** The maximum number of journal entries, log lines and actions shown for one task. */
const mostEntries = 1_000;
const mostLines = 200;
const mostActions = 100;
const mostChildren = 100;
/** Waiting webhook messages to search: usually there are none. */
const mostDeliveries = 10_000;
/** The number of entries, and of their ends, to read at a time. */
const page = 200;

/** One task in full; undefined if it does not exist. */
export async function showTask(store: TaskStore, id: string): Promise<TaskDetails | undefined> {
  const snapshot = await store.snapshot(id);
  if (snapshot === undefined) return undefined;
  const { task, inputs, outcome } = snapshot;
  const [request, children, timeline, deliveries, log, output, actions] = await Promise.all([
    store.request(id),
    store.admin?.tasks({ of: "children", parent: id }, null, mostChildren) ?? [],
    timelineOf(store, id),
    task.notifies === undefined ? [] : (store.outbox?.ofTask(id, mostDeliveries) ?? []),
    linesOf(store, task, "log"),
    linesOf(store, task, "output"),
    store.admin?.actions(id, null, mostActions) ?? [],
  ]);
  const byCall = new Map(children.map((child) => [child.parent?.key, child.id]));
  const { wireId, toolVersion, failures, crashes, cancelRequestedAt, requiredScopes, attempts } = task;
  return {
    ...summaryOf(task, outcome),
    wireId,
    arguments: request === undefined ? null : parsed(request.arguments),
    retryOf: request?.origin.retryOf ?? null,
    toolVersion,
    failures,
    crashes,
    cancelRequestedAt,
    retrieved: task.retrieved ?? null,
    requiredScopes,
    traceId: request?.origin.trace?.traceparent.split("-")[1] ?? null,
    attempts,
    timeline: timeline.entries.map((entry) => ({ ...entry, childId: byCall.get(entry.key) ?? null })),
    timelineIsCut: timeline.isCut,
    questions: inputs.map(({ key, method, params }) => ({ key, method, params: parsed(params) })),
    children: inOrderOfCalls(children, timeline.entries).map((child) => summaryOf(child, null)),
    outcome: outcome === null ? null : { kind: outcome.kind, body: parsed(outcome.body) },
    log,
    output,
    deliveries: deliveries.map(deliveryOf),
    actions: actions.map(actionOf),
  };
}

export function actionOf({ detail, ...action }: StoredAction): AdminAction {
  return { ...action, detail: detail === null ? null : parsed(detail) };
}

/** Ids of the same millisecond have no order. */
function inOrderOfCalls(children: readonly TaskRecord[], entries: readonly Entry[]): readonly TaskRecord[] {
  const places = new Map(entries.map(({ key }, place) => [key, place]));
  const placeOf = ({ parent }: TaskRecord): number => places.get(parent?.key ?? "") ?? Infinity;
  return children.toReversed().sort((a, b) => Math.sign(placeOf(a) - placeOf(b)) || 0);
}

function deliveryOf({ hook, event, at, tries, dueAt, problem }: StoredDelivery): TaskDelivery {
  return { webhook: hook, event, at, tries, nextAt: dueAt, problem };
}

/** An entry from the journal. */
type Entry = Omit<TimelineEntry, "childId">;

async function timelineOf(
  store: TaskStore,
  id: string,
): Promise<{ readonly entries: readonly Entry[]; readonly isCut: boolean }> {
  const heads: (JournalHead & { readonly place: number })[] = [];
  let from: string | null = "";
  while (from !== null && heads.length < mostEntries) {
    const { entries, next }: Awaited<ReturnType<TaskStore["journal"]>> = await store.journal(id, from, page);
    heads.push(...entries);
    from = next;
  }
  heads.sort((a, b) => a.place - b.place);
  const errors = new Map<string, string>();
  for (let start = 0; start < heads.length; start += page) {
    const keys = heads.slice(start, start + page).map(({ key }) => key);
    for (const { key, error } of await store.journalEnds(id, keys))
      if (error !== null) errors.set(key, error);
  }
  return { entries: heads.map((head) => entryOf(head, errors.get(head.key))), isCut: from !== null };
}

function entryOf(
  { key, kind, method, begunAt, doneAt, tries, deadlineAt }: JournalHead,
  error: string | undefined,
): Entry {
  return {
    key,
    kind,
    method,
    begunAt,
    doneAt,
    durationMs: begunAt === null || doneAt === null ? null : Math.max(0, doneAt - begunAt),
    tries,
    until: doneAt === null ? deadlineAt : null,
    error: error === undefined ? null : errorText({ kind: "error", body: error }),
  };
}

/** The last lines that the store keeps. */
async function linesOf(store: TaskStore, task: TaskRecord, list: LineList): Promise<readonly ShownLine[]> {
  const count = list === "log" ? task.logged : task.outputs;
  if (count === 0) return [];
  const lines = await store.logs?.read(task.id, list, Math.max(0, count - mostLines), mostLines);
  return (lines ?? []).map(shownLine);
}
