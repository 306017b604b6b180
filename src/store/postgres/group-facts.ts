import type { UnreadableTask, TaskCommand } from "../../task/command.ts";
import type { NewTask, TaskRecord } from "../../task/record.ts";
import { isTaskId } from "../../task/record-changes.ts";
import { type HoldfastError, isUnreadable } from "../../task/fault.ts";
import type { JournalEntry } from "../../task/journal.ts";
import type { Usage } from "../../task/queue.ts";
import { factsFor, type EventFacts, type FactsQuery, type OtherFacts, type QueuedTasks } from "../facts.ts";
import { type Codec, columnsOf, idOf, type Row, text, textOrNull, toStored } from "../row.ts";
import { journalEntry, keptIn } from "../tables/of-task.ts";
import { recordColumns } from "../tables/task.ts";
import type { Queries } from "./database.ts";
import { keyName, wireName } from "./names.ts";
import type { KnownOwner } from "./ownership.ts";
import { readTask, recordOf } from "./read-task.ts";
import type { FactStatements } from "./task-sql.ts";

/** A finished task whose time is over. */
export interface DeletableTask {
  readonly id: string;
  readonly principal: string | null;
  readonly parent: null;
}

/** The data read for a group; its commands then change it. Unreadable data is kept as the error that says so. */
export interface GroupFacts {
  /** How texts are stored. */
  readonly codec: Codec;
  readonly tasks: Map<string, TaskRecord | Error>;
  readonly entries: Map<string, Map<string, JournalEntry | Error>>;
  /** Ids of the tasks below a task. */
  readonly children: Map<string, readonly string[]>;
  /** By root: the ended tasks below it that are known. */
  readonly below: Map<string, Set<string>>;
  /** Ids of tasks by their idempotency keys. */
  readonly keyed: Map<string, string>;
  /** Ids and wire ids that new tasks cannot have; only read after one was found taken. */
  readonly taken: Set<string>;
  /** By task and name. */
  readonly events: Map<string, EventFacts & { readonly damage?: Error }>;
  usage: ReadonlyMap<string, Usage>;
  owners: readonly KnownOwner[];
  deletable: readonly DeletableTask[];
  /** Tasks that a claim skipped because others had them locked: they may be claimable a little later. */
  passed?: readonly string[];
  others: OtherFacts;
}

type OneTask = NonNullable<FactsQuery["task"]>;

/** What the commands of a group need to know: about tasks, and the rest. */
export interface GroupQuery {
  readonly tasks: readonly OneTask[];
  readonly others: readonly FactsQuery[];
  readonly creates: readonly TaskCommand<"create">[];
  /** Whether to look up which ids are taken. */
  readonly looksForTaken: boolean;
}

export function queryOf(commands: readonly TaskCommand[], looksForTaken: boolean): GroupQuery {
  const queries = commands.map(factsFor);
  return {
    tasks: queries.flatMap(({ task }) => task ?? []),
    others: queries.filter(({ task }) => task === undefined),
    creates: commands.filter((command) => command.type === "create"),
    looksForTaken,
  };
}

export function noFacts(codec: Codec): GroupFacts {
  return {
    codec,
    tasks: new Map(),
    entries: new Map(),
    children: new Map(),
    below: new Map(),
    keyed: new Map(),
    taken: new Set(),
    events: new Map(),
    usage: new Map(),
    owners: [],
    deletable: [],
    others: {},
  };
}

/** Locks the tasks of the commands and their relatives, and reads their data, all sent at once. */
export async function readTasks(
  queries: Queries,
  sql: FactStatements,
  { tasks, creates, looksForTaken }: GroupQuery,
  made: readonly NewTask[],
  into: GroupFacts,
): Promise<void> {
  const stored = (of: readonly OneTask[]): string[] => [...new Set(of.map(({ id }) => id))].map(toStored);
  const above = stored(tasks.filter(({ parents }) => parents));
  const below = stored(tasks.filter(({ children }) => children));
  const roots = stored(tasks.filter((of) => of.below === true));
  const keys = tasks.flatMap(({ id, keys: of }) => of.map((key) => ({ id, key })));
  const work: Promise<void>[] = [];
  const read = (
    statement: string,
    values: Parameters<Queries["query"]>[1],
    take: (rows: Row[]) => void,
  ): void => void work.push(queries.query(statement, values).then(take));

  const addTask = (row: Row): TaskRecord | Error => addRecord(into, row);
  if (tasks.length > 0) read(sql.lockTasks, [stored(tasks), above], (rows) => rows.forEach(addTask));
  if (below.length > 0) {
    read(sql.lockChildren, [below], (rows) => {
      for (const row of rows) {
        const child = addTask(row);
        if (child instanceof Error) continue;
        const parent = child.parent?.id;
        if (parent !== undefined) into.children.set(parent, [...(into.children.get(parent) ?? []), child.id]);
      }
    });
  }
  if (roots.length > 0) work.push(readEndedBelow(queries, sql, roots, into));
  const addEntry = (row: Row): void => addJournalEntry(into, row);
  if (keys.length > 0) {
    const values = [keys.map(({ id }) => toStored(id)), keys.map(({ key }) => toStored(key))];
    read(sql.entries, values, (rows) => rows.forEach(addEntry));
  }
  if (above.length > 0) read(sql.calls, [above], (rows) => rows.forEach(addEntry));
  for (const { id, event } of tasks)
    if (event !== undefined) work.push(readEvent(queries, sql, id, event, into));
  const keyed = creates.flatMap(({ task: { principal, idempotencyKey: key } }) =>
    key === null ? [] : { principal, key },
  );
  if (keyed.length > 0) {
    const values = [
      keyed.map(({ principal }) => toStored(principal ?? "")),
      keyed.map(({ key }) => toStored(key)),
    ];
    read(sql.keyedTasks, values, (rows) => {
      for (const row of rows) {
        addTask(row);
        const wanted = row.slice(recordColumns.length);
        into.keyed.set(keyName(text(wanted, keyedAt.principal), text(wanted, keyedAt.key)), idOf(row));
      }
    });
  }
  // An id of the server's own is practically never taken; one that a client chose may be.
  const isChosen = made.some(({ id, wireId }) => id !== wireId || !isTaskId(id));
  if (looksForTaken || isChosen) work.push(readTaken(queries, sql, made, into));
  await Promise.all(work);
}

/** The ended tasks below these, of which each has no parent. */
export async function readEndedBelow(
  queries: Queries,
  sql: FactStatements,
  roots: readonly string[],
  { below }: Pick<GroupFacts, "below">,
): Promise<void> {
  for (const row of await queries.query(sql.endedBelow, [roots])) {
    const root = text(row, rootAt.root);
    below.set(root, (below.get(root) ?? new Set()).add(idOf(row)));
  }
}

const rootAt = columnsOf(["id", "root"]);

/** What is unreadable is kept as the error that says so. */
function orDamage<T>(id: string, read: () => T): T | HoldfastError {
  try {
    return readTask(id, read);
  } catch (error) {
    if (isUnreadable(error)) return error;
    throw error;
  }
}

function addRecord(into: GroupFacts, row: Row): TaskRecord | Error {
  const id = idOf(row);
  const task = orDamage(id, () => recordOf(row, into.codec));
  into.tasks.set(id, task);
  return task;
}

const keyedAt = columnsOf(["principal", "key"]);
const entryTask = { place: 0, name: "task_id" };

function addJournalEntry(into: GroupFacts, row: Row): void {
  const id = text(row, entryTask);
  const of = into.entries.get(id) ?? new Map<string, JournalEntry | Error>();
  into.entries.set(id, of);
  const entry = row.slice(1);
  of.set(text(entry, journalEntry.at.key), readEntry(id, entry, into.codec));
}

function readEntry(id: string, row: Row, codec: Codec): JournalEntry | HoldfastError {
  return orDamage(id, () => journalEntry.read(id, row, codec));
}

async function readEvent(
  queries: Queries,
  sql: FactStatements,
  id: string,
  { name, coming }: NonNullable<OneTask["event"]>,
  into: GroupFacts,
): Promise<void> {
  const of = [toStored(id), toStored(name)];
  const put = (facts: EventFacts & { readonly damage?: Error }): void =>
    void into.events.set(`${id} ${name}`, facts);
  if (coming === undefined) {
    const [row] = await queries.query(sql.firstEvent, of);
    const kept = row && orDamage(id, () => keptIn(id, row, into.codec));
    return put(kept instanceof Error ? { damage: kept } : { kept });
  }
  const { dedupeId, past } = coming;
  const [[wait], [known], [count]] = await Promise.all([
    queries.query(sql.firstEventWait, [...of, past]),
    dedupeId === null ? [] : queries.query(sql.knownEvent, [toStored(id), toStored(dedupeId)]),
    queries.query(sql.countEvents, [toStored(id)]),
  ]);
  const entry = wait === undefined ? undefined : readEntry(id, wait, into.codec);
  put({
    ...(entry instanceof Error ? { damage: entry } : { wait: entry }),
    isKnown: known !== undefined,
    count: Number(count?.[0] ?? 0),
  });
}

async function readTaken(
  queries: Queries,
  sql: FactStatements,
  made: readonly NewTask[],
  into: GroupFacts,
): Promise<void> {
  const [ids, wireIds] = await Promise.all([
    queries.query(sql.takenIds, [made.map(({ id }) => toStored(id))]),
    queries.query(sql.takenWireIds, [
      made.map(({ generation }) => generation),
      made.map(({ scope }) => toStored(scope)),
      made.map(({ wireId }) => toStored(wireId)),
    ]),
  ]);
  for (const row of ids) into.taken.add(idOf(row));
  for (const row of wireIds) into.taken.add(wireName(wireNameOf(row)));
}

const wireAt = columnsOf(["generation", "scope", "wire_id"]);

function wireNameOf(row: Row): Parameters<typeof wireName>[0] {
  const generation = text(row, wireAt.generation) as Parameters<typeof wireName>[0]["generation"];
  return { generation, scope: text(row, wireAt.scope), wireId: text(row, wireAt.wire_id) };
}

/** The records of rows, and which of them are unreadable. */
export function recordsOf(rows: readonly Row[], into: GroupFacts): QueuedTasks {
  const unreadable: UnreadableTask[] = [];
  const tasks = rows.flatMap((row) => {
    const task = addRecord(into, row);
    if (!(task instanceof Error)) return task;
    unreadable.push({ id: idOf(row), problem: task.message });
    return [];
  });
  return { tasks, unreadable };
}

const deletableAt = columnsOf(["id", "principal"]);

export function deletableOf(row: Row): DeletableTask {
  return { id: idOf(row), principal: textOrNull(row, deletableAt.principal), parent: null };
}
