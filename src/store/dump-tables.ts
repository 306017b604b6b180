import { damaged, type NumberedLine } from "./dump-file.ts";

/**
 * What a dump has of a store, by names that every store has: never the rows of one kind of database.
 * - Texts are as they are stored, so encrypted ones stay encrypted, and a dump needs no keys.
 * - A task is its record, in JSON with its texts as they are stored, and the proof that its row is still that of the same caller.
 * - What processes only have while they run is left out: their changes, news and reports, and messages that only they could use.
 */
export interface DumpTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly kinds: readonly Kind[];
  /** The columns by which rows are dumped, those of one task or all. */
  readonly order: string;
}

type Kind = "text" | "text?" | "integer" | "integer?";

/** The values of a row, by column. */
export type DumpRow = Readonly<Record<string, string | number | null>>;

function table(name: string, columns: Readonly<Record<string, Kind>>, order: string): DumpTable {
  return { name, columns: Object.keys(columns), kinds: Object.values(columns), order };
}

/** A row of a task, by name. */
export interface DumpedTask extends DumpRow {
  readonly id: string;
  readonly version: number;
  readonly record: string;
  readonly proof: string | null;
}

export const taskTable = table(
  "task",
  { id: "text", version: "integer", record: "text", proof: "text?" },
  "id",
);

/** What belongs to a task: rows whose `task_id` is its id. `place` is the position of an entry in the journal. */
export const taskParts: readonly DumpTable[] = [
  table("request", { task_id: "text", origin: "text", arguments: "text", prepared: "text?" }, "task_id"),
  table(
    "journal",
    {
      task_id: "text",
      place: "integer",
      key: "text",
      kind: "text",
      method: "text?",
      request: "text?",
      request_hash: "text?",
      value: "text?",
      error: "text?",
      deadline_at: "integer?",
      done_at: "integer?",
      done_version: "integer?",
      tries: "integer",
      begun_at: "integer?",
    },
    "place",
  ),
  table("outcome", { task_id: "text", kind: "text", body: "text" }, "task_id"),
  table(
    "line",
    {
      task_id: "text",
      list: "text",
      seq: "integer",
      at: "integer",
      step: "text",
      place: "integer",
      body: "text",
    },
    "list, seq",
  ),
  table("event", { task_id: "text", name: "text", value: "text?", dedupe_id: "text?" }, "seq"),
];

/** What belongs to no task, or is written without a change of one. It is in each dump as a whole. */
export const wholeTables: readonly DumpTable[] = [
  table("secret", { name: "text", value: "text" }, "name"),
  table(
    "owner",
    { id: "text", pid: "integer", host: "text", since: "text", handlers: "text", retired: "integer" },
    "id",
  ),
  table("session", { id: "text", principal: "text?", expires_at: "integer", state: "text" }, "id"),
  table("message", { task_id: "text", body: "text" }, "seq"),
  table(
    "action",
    {
      seq: "integer",
      at: "integer",
      actor: "text",
      action: "text",
      task_id: "text?",
      tool: "text?",
      detail: "text?",
    },
    "seq",
  ),
  table("paused_tool", { tool: "text", since: "integer", actor: "text" }, "tool"),
  table(
    "delivery",
    {
      seq: "integer",
      hook: "text",
      event: "text",
      task_id: "text",
      tool: "text",
      principal: "text?",
      generation: "text",
      version: "integer",
      at: "integer",
      due_at: "integer?",
      tries: "integer",
      failed_at: "integer?",
      problem: "text?",
    },
    "seq",
  ),
];

export const tablesOfDump: ReadonlyMap<string, DumpTable> = new Map(
  [taskTable, ...taskParts, ...wholeTables].map((each) => [each.name, each]),
);

/** The row of a table from the values of its columns, in their order. */
export function rowOf<R extends DumpRow>({ columns }: DumpTable, values: readonly unknown[]): R {
  const row: Record<string, string | number | null> = {};
  for (const [index, column] of columns.entries()) {
    const value = values[index];
    row[column] = typeof value === "bigint" ? Number(value) : (value as string | number | null);
  }
  return row as R;
}

/** The row that a line has. Throws `store_unusable` unless it has what its table needs. */
export function rowIn(file: string, table_: DumpTable, { number, value }: NumberedLine): DumpRow {
  const row = value as DumpRow | null;
  for (const [index, column] of table_.columns.entries()) {
    if (!fits(row?.[column], table_.kinds[index]))
      throw damaged(file, number, `it has no valid ${column} of ${table_.name}`);
  }
  return row as DumpRow;
}

function fits(value: unknown, kind: Kind | undefined): boolean {
  if (kind?.endsWith("?") === true && value === null) return true;
  return kind?.startsWith("text") === true ? typeof value === "string" : Number.isSafeInteger(value);
}
