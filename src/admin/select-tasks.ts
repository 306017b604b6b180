import { nextTurn } from "../runtime/wait-for.ts";
import type { AdminStore, EndedAs, TaskRange } from "../store/admin-store.ts";
import { generationNames, type TaskRecord } from "../task/record.ts";
import { encryptedText, cutText, isSealed } from "../task/stored-text.ts";
import type { TaskSelection, AdminTaskState, AdminWaitReason, TaskSummary } from "./admin.ts";
import { encrypted } from "./admin-store-of.ts";
import { waitsForOf } from "../task/task-line.ts";
import type { Outcome } from "../task/outcome.ts";
import { latestTime } from "../task/time.ts";

/** How many tasks of a range to read at first, and at most at a time. Usually, several ranges fill a page together. */
const readAtOnce = 50;
const mostAtOnce = 1_000;

/** How many unselected tasks one page skips: filters without an index need several pages. */
const mostPassed = 2_000;

const openStates: readonly AdminTaskState[] = ["queued", "waiting", "running", "input_required", "blocked"];

const ends: ReadonlyMap<AdminTaskState, readonly EndedAs[]> = new Map([
  ["completed", ["result"]],
  ["failed", ["error", "error_result"]],
  ["cancelled", ["cancelled"]],
]);

type Selected = Pick<AdminStore, "tasks" | "endedTools">;

export interface SelectedPage {
  readonly tasks: readonly TaskRecord[];
  readonly next: string | null;
}

/** Up to `limit` selected tasks with ids below `after`, newest first. */
export async function selectTasks(
  store: Selected,
  selection: TaskSelection,
  limit: number,
  after: string | null,
): Promise<SelectedPage> {
  const ranges = await rangesOf(store, selection);
  const first = [after, selection.createdBefore === undefined ? null : idAt(selection.createdBefore)];
  const before = first.reduce((least, id) => (least === null || (id !== null && id < least) ? id : least));
  const last = selection.createdFrom === undefined ? "" : idAt(selection.createdFrom);
  const merged = new MergedRanges(ranges.map((range) => new RangeReader(store, range, before)));
  const isMeant = filterOf(selection);
  const tasks: TaskRecord[] = [];
  for (let passed = 0; ;) {
    const task = await merged.next();
    if (task === undefined || task.id < last) return { tasks, next: null };
    if (isMeant(task)) tasks.push(task);
    else passed++;
    if (tasks.length === limit || passed === mostPassed) return { tasks, next: task.id };
  }
}

/** The newest selected tasks, at most so many, page by page. */
export async function* newestTasks(
  store: Selected,
  selection: TaskSelection,
  most: number,
): AsyncGenerator<readonly TaskRecord[], void, undefined> {
  let after: string | null = null;
  for (let left = most; left > 0;) {
    const page: SelectedPage = await selectTasks(store, selection, Math.min(left, mostAtOnce), after);
    yield page.tasks;
    if (page.next === null) return;
    after = page.next;
    left -= page.tasks.length;
    await nextTurn();
  }
}

/** Ids begin with their creation time (`taskId`), in whole milliseconds. Ids from this time on are not below the result. */
function idAt(ms: number): string {
  return Math.max(0, Math.ceil(ms)).toString(16).padStart(12, "0");
}

/** The ranges that contain all selected tasks, each task once. */
async function rangesOf(store: Selected, selection: TaskSelection): Promise<readonly TaskRange[]> {
  const { waitsFor, tool, principal, cause } = selection;
  if (cause !== undefined) return [{ of: "cause", cause }];
  // What waits has not ended.
  const states = selection.states ?? (waitsFor && openStates);
  if (principal !== undefined)
    return generationNames.map((generation) => ({ of: "principal", generation, principal }));
  if (states === undefined && tool === undefined) return [{ of: "all" }];
  const open = states?.filter((state) => !ends.has(state));
  const endedAs = new Set(
    states === undefined ? [...ends.values()].flat() : states.flatMap((each) => ends.get(each) ?? []),
  );
  const tools = endedAs.size === 0 ? [] : tool === undefined ? await store.endedTools() : [tool];
  const ended = tools.flatMap((name) => [...endedAs].map((as) => ({ of: "ended", tool: name, as }) as const));
  if (open?.length === 0) return ended;
  const asksOnly = open?.every((state) => state === "input_required") === true;
  return [{ of: asksOnly ? "asking" : "open" }, ...ended];
}

function filterOf(selection: TaskSelection): (task: TaskRecord) => boolean {
  const { states, waitsFor, tool, principal, owner, cause, text, retried } = selection;
  const wanted = states && new Set(states);
  const reasons = waitsFor && new Set<AdminWaitReason | null>(waitsFor);
  const lower = text?.toLowerCase();
  return (task) =>
    (wanted === undefined || wanted.has(adminStateOf(task))) &&
    (reasons === undefined || reasons.has(waitsForOf(task))) &&
    (tool === undefined || task.tool === tool) &&
    (principal === undefined || task.principal === principal) &&
    (owner === undefined || (task.owner ?? task.attempts.at(-1)?.owner) === owner) &&
    (cause === undefined || task.cause === cause) &&
    (retried === undefined || (task.retriedAs !== undefined) === retried) &&
    (lower === undefined || hasText(task, lower));
}

function hasText({ statusMessage }: TaskRecord, lower: string): boolean {
  if (statusMessage === encryptedText) throw encrypted("look for a status text");
  return statusMessage?.toLowerCase().includes(lower) === true;
}

/** The tasks of one range, read on demand. */
class RangeReader {
  readonly range: TaskRange;
  readonly #store: Selected;
  #before: string | null;
  #read: readonly TaskRecord[] = [];
  #place = 0;
  #atOnce = readAtOnce;
  #isOver = false;

  constructor(store: Selected, range: TaskRange, before: string | null) {
    this.range = range;
    this.#store = store;
    this.#before = before;
  }

  /** Whether it has to read to know its next task. */
  get isEmpty(): boolean {
    return this.#place === this.#read.length && !this.#isOver;
  }

  async fill(): Promise<void> {
    if (!this.isEmpty) return;
    const limit = this.#atOnce;
    this.#read = await this.#store.tasks(this.range, this.#before, limit);
    this.#place = 0;
    this.#before = this.#read.at(-1)?.id ?? this.#before;
    this.#isOver = this.#read.length < limit;
    this.#atOnce = Math.min(2 * limit, mostAtOnce);
  }

  /** The next task; stays the same until it is taken. */
  get head(): TaskRecord | undefined {
    return this.#read[this.#place];
  }

  take(): void {
    this.#place++;
  }

  /** Reads everything below an id again. */
  readAgainBelow(id: string): void {
    this.#read = [];
    this.#place = 0;
    this.#before = id;
    this.#atOnce = readAtOnce;
    this.#isOver = false;
  }
}

/** The tasks of several ranges, newest first and without duplicates: a task that moved may be in two ranges. */
class MergedRanges {
  /** The range of unfinished tasks, if selected: a task moves from there to the others, and never back. */
  readonly #open: RangeReader | undefined;
  readonly #readers: readonly RangeReader[];
  #last: string | undefined;

  constructor(readers: readonly RangeReader[]) {
    this.#open = readers.find(({ range }) => range.of === "open" || range.of === "asking");
    this.#readers = readers;
  }

  async next(): Promise<TaskRecord | undefined> {
    for (;;) {
      const task = await this.#take();
      if (task === undefined || task.id !== this.#last) {
        this.#last = task?.id;
        return task;
      }
    }
  }

  async #take(): Promise<TaskRecord | undefined> {
    await this.#fill();
    let newest: RangeReader | undefined;
    // If a task is in two ranges, the later one has its current state.
    for (const reader of this.#readers)
      if (reader.head !== undefined && (newest?.head === undefined || reader.head.id >= newest.head.id))
        newest = reader;
    const task = newest?.head;
    newest?.take();
    return task;
  }

  /** Finished tasks are read after unfinished ones. Otherwise a task that ends meanwhile would be missed. */
  async #fill(): Promise<void> {
    if (this.#open?.isEmpty === true) {
      await this.#open.fill();
      if (this.#last !== undefined)
        for (const reader of this.#readers) if (reader !== this.#open) reader.readAgainBelow(this.#last);
    }
    await Promise.all(this.#readers.map((reader) => reader.fill()));
  }
}

/** A task's state for operators. */
export function adminStateOf(
  task: Pick<TaskRecord, "state" | "outcomeKind" | "lane" | "openInputs" | "waiting"> & {
    readonly blocked?: object;
  },
): AdminTaskState {
  switch (task.state) {
    case "cancelled":
      return "cancelled";
    case "settled":
      return task.outcomeKind === "result" ? "completed" : "failed";
    case "queued":
    case "running":
      if (task.blocked !== undefined) return "blocked";
      if (task.openInputs > 0) return "input_required";
      if (task.state === "running") return task.waiting ? "waiting" : "running";
      return task.lane === null ? "waiting" : "queued";
  }
}

/** A record as operators see it; `outcome` is that of a failed task. */
export function summaryOf(task: TaskRecord, outcome: Outcome | null): TaskSummary {
  const { id, tool, principal, generation, method, createdAt, startedAt, updatedAt, finishedAt } = task;
  const { sweepAt, lane, runAfter, attempt, statusMessage, progress, owner, parent } = task;
  const wakes = lane === null && runAfter !== null && runAfter < latestTime;
  return {
    id,
    tool,
    state: adminStateOf(task),
    waitsFor: waitsForOf(task),
    principal,
    generation,
    method,
    createdAt,
    startedAt,
    updatedAt,
    finishedAt,
    expiresAt: sweepAt,
    wakesAt: wakes ? runAfter : null,
    attempt,
    statusMessage,
    progress,
    error: outcome === null ? null : errorText(outcome),
    cause: task.cause ?? null,
    owner,
    parent: parent?.id ?? null,
    retriedAs: task.retriedAs ?? null,
    blocked: task.blocked ?? null,
  };
}

/** A failure's message, on one line; null if it did not fail. */
export function errorText({ kind, body }: Outcome): string | null {
  if (kind === "result") return null;
  const text = kind === "error" ? messageIn(parsed(body)) : textIn(parsed(body));
  return cutText(text.replaceAll(/\s+/g, " ").trim());
}

/** A body as JSON; a note if it is encrypted. A body that cannot be parsed is shown as it is. */
export function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return isSealed(body) ? encryptedText : body;
  }
}

function messageIn(error: unknown): string {
  if (typeof error === "string") return error;
  if (typeof error === "object" && error !== null && "message" in error && typeof error.message === "string")
    return error.message;
  return JSON.stringify(error);
}

/** The text in a tool's result. */
function textIn(result: unknown): string {
  if (typeof result === "string") return result;
  const content: unknown =
    typeof result === "object" && result !== null && "content" in result ? result.content : undefined;
  const texts = (Array.isArray(content) ? (content as unknown[]) : []).flatMap((block) =>
    typeof block === "object" && block !== null && "text" in block && typeof block.text === "string"
      ? [block.text]
      : [],
  );
  return texts.length > 0 ? texts.join(" ") : JSON.stringify(result);
}
