import type { TaskStore } from "../store/store.ts";
import { isLeft } from "../task/decide.ts";
import type { TaskRecord } from "../task/record.ts";
import { deliveryOf } from "./webhooks.ts";
import { shownLine, type LineList } from "../task/task-line.ts";
import type { ShownLine, TaskDetails, TaskSummary } from "./admin.ts";
import { actionsOn } from "./record-reads.ts";
import { adminStateOf, parsed, summaryOf } from "./select-tasks.ts";
import type { TimelineEntry, FilePart, FileQuery, StoredFile } from "./task-parts.ts";
import { childrenOf, Timeline } from "./timeline.ts";
import { artifactNamed, artifactsOf, readArtifact, type ArtifactReads } from "../runtime/artifacts.ts";
import type { Artifact } from "../task/artifact.ts";
import { HoldfastError, isUnreadable } from "../task/fault.ts";

/** The maximum number of log lines and actions shown for one task. */
const mostLines = 200;
const mostActions = 100;
/** Waiting webhook messages to search: usually there are none. */
const mostDeliveries = 10_000;

/** One task in full; undefined if it does not exist. */
export async function showTask(store: TaskStore, id: string, now: number): Promise<TaskDetails | undefined> {
  const snapshot = await store.snapshot(id);
  if (snapshot === undefined) return undefined;
  const { task, inputs, outcome } = snapshot;
  const [request, children, timeline, deliveries, log, output, files, actions] = await Promise.all([
    store.request(id),
    childrenOf(store, id),
    Timeline.of(store, task, now),
    task.notifies === undefined ? [] : (store.outbox?.ofTask(id, mostDeliveries) ?? []),
    linesOf(store, task, "log"),
    linesOf(store, task, "output"),
    filesOf(store, task),
    store.admin === undefined ? [] : actionsOn(store, id, null, mostActions),
  ]);
  const entries = await timeline.shown(children);
  const { wireId, toolVersion, failures, crashes, cancelRequestedAt, requiredScopes, attempts } = task;
  return {
    ...summaryOf(task, outcome),
    wireId,
    arguments: request === undefined ? null : parsed(request.arguments),
    retryOf: request?.origin.retryOf ?? null,
    toolVersion,
    failures,
    crashes,
    suspicion: task.suspicion?.since === null ? null : (task.suspicion ?? null),
    cancelRequestedAt,
    abandonedAt: isLeft(task) ? task.cancelBy : null,
    retrieved: task.retrieved ?? null,
    requiredScopes,
    traceId: request?.origin.trace?.traceparent.split("-")[1] ?? null,
    attempts,
    timeline: entries,
    timelineIsCut: entries.length < timeline.summary.entries,
    timelineSummary: timeline.summary,
    questions: inputs.map(({ key, method, params }) => ({ key, method, params: parsed(params) })),
    children: await Promise.all(inOrderOfCalls(children, entries).map((child) => listed(store, child))),
    outcome: outcome === null ? null : { kind: outcome.kind, body: parsed(outcome.body) },
    log,
    output,
    files,
    deliveries: deliveries.map(deliveryOf),
    actions,
  };
}

/** A failed task's outcome has the reason. */
export async function listed(store: TaskStore, task: TaskRecord): Promise<TaskSummary> {
  if (adminStateOf(task) !== "failed") return summaryOf(task, null);
  const snapshot = await store.snapshot(task.id).catch(() => undefined); // a damaged outcome must not hide the others
  return summaryOf(task, snapshot?.outcome ?? null);
}

/** Ids of the same millisecond have no order. */
function inOrderOfCalls(
  children: readonly TaskRecord[],
  entries: readonly TimelineEntry[],
): readonly TaskRecord[] {
  const places = new Map(entries.map(({ key }, place) => [key, place]));
  const placeOf = ({ parent }: TaskRecord): number => places.get(parent?.key ?? "") ?? Infinity;
  return children.toReversed().sort((a, b) => Math.sign(placeOf(a) - placeOf(b)) || 0);
}

/** The last lines that the store keeps. */
async function linesOf(store: TaskStore, task: TaskRecord, list: LineList): Promise<readonly ShownLine[]> {
  const count = list === "log" ? task.logged : task.outputs;
  if (count === 0) return [];
  const lines = await store.logs?.read(task.id, list, Math.max(0, count - mostLines), mostLines);
  return (lines ?? []).map(shownLine);
}

/** The files of a task, without a look at the journal of one that never had any. None for operators without the keys of the store. */
export async function filesOf(
  store: TaskStore,
  { id, openArtifacts }: TaskRecord,
): Promise<readonly StoredFile[]> {
  if (openArtifacts === undefined) return [];
  try {
    return (await artifactsOf(store, id)).map(fileOf);
  } catch (error) {
    if (isUnreadable(error)) return [];
    throw error;
  }
}

/** Rejects with `invalid_params` if the task has no such file. */
export async function filePartOf(
  { store, blobs }: ArtifactReads & { readonly store: TaskStore },
  id: string,
  name: string,
  { from = 0, bytes = 1024 * 1024 }: FileQuery,
): Promise<FilePart> {
  const artifact = await artifactNamed(store, id, name);
  if (artifact === undefined)
    throw new HoldfastError("invalid_params", `Task ${id} has no file ${JSON.stringify(name)}.`);
  const { data } = await readArtifact({ store, blobs }, id, artifact, from, bytes);
  return { ...fileOf(artifact), from, data: data.toString("base64") };
}

function fileOf({ name, mimeType, bytes, sha256, at }: Artifact): StoredFile {
  return { name, mimeType, bytes, sha256, at };
}
