import { HoldfastError } from "../task/fault.ts";
import { blobIn, blobLine, type BlobCopies } from "./blobs.ts";
import type { LoadMark } from "./load-mark.ts";
import { compareIds, type TaskVersion } from "./dump.ts";
import { damaged, linesOf, type DumpHeader, type NumberedLine } from "./dump-file.ts";
import {
  checkTask,
  rowIn,
  taskParts,
  taskTable,
  tablesOfDump,
  wholeTables,
  type DumpRow,
  type DumpTable,
} from "./dump-tables.ts";

/**
 * Fills a store from dumps. Invariants:
 * - Nothing is written before the whole file was checked.
 * - From the first write until the last one of a complete dump, a mark in the store keeps servers out. It has the number of the lines that
 *   are in the store; each write moves it with the rows, so a load that was interrupted goes on from there.
 * - A dump of everything fills an empty store. One of what changed since another dump follows that one, and leaves the store as its own.
 */

/** What one transaction writes, in this order. */
export interface LoadBatch {
  /** Tasks that go, with all that belongs to them. */
  readonly removes: readonly string[];
  /** Whether the rows of all tables that a dump has as a whole go. */
  readonly empties: boolean;
  readonly rows: readonly (readonly [table: DumpTable, rows: readonly DumpRow[]])[];
  readonly from: LoadMark;
  readonly to: LoadMark;
}

/** A store that nobody has open. */
export interface LoadTarget {
  mark(): Promise<LoadMark | undefined>;
  /** Puts the mark into a store that has none. Rejects with `configuration` if it is not empty, and with `store_locked` if it is in use. */
  begin(mark: LoadMark): Promise<void>;
  /** The ids of its tasks, in the order of their bytes: after one, and at most up to another. */
  ids(after: string, upTo: string | undefined, limit: number): Promise<readonly string[]>;
  /** Rejects with `store_locked` if the mark is not `from`: then another process loads too. */
  write(batch: LoadBatch): Promise<void>;
  /** Removes the mark, so that servers can open the store. */
  open(): Promise<void>;
}

/** About how many characters of rows one transaction writes. */
const batchLength = 1024 * 1024;
/** How many rows it writes or removes at most. */
const mostRows = 5_000;

export interface LoadSetup {
  /** Whether the store may be opened while others have the original open. */
  readonly beside: boolean;
  /** Whether servers are to be kept out until another load has finished. */
  readonly partial: boolean;
  /** Where the bytes of artifacts go that the dump has beside the store. */
  readonly blobs?: BlobCopies | undefined;
  readonly signal: AbortSignal;
}

/** What a file has. */
export interface CheckedDump {
  readonly header: DumpHeader;
  readonly tasks: number;
}

/**
 * Reads a whole dump. Throws `store_unusable`, with the number of the line, if anything is wrong with it, and `configuration` if it has blobs
 * and there is no place for them.
 */
export async function checkDump(file: string, { blobs }: Pick<LoadSetup, "blobs">): Promise<CheckedDump> {
  let header: DumpHeader | undefined;
  let tasks = 0;
  let last = "";
  let page = new Map<string, number>();
  for await (const line of linesOf(file)) {
    const { number, name, value } = line;
    if (name === "header") header = value as DumpHeader;
    else if (name === "page") {
      page = new Map(pageIn(file, line));
      for (const id of page.keys()) {
        if (compareIds(last, id) >= 0) throw damaged(file, number, "its tasks are not in order");
        last = id;
      }
      tasks += page.size;
    } else if (name === blobLine) {
      if (!page.has(blobIn(file, line).task))
        throw damaged(file, number, "it has a blob of a task that is not in the list before it");
      if (blobs === undefined) throw noPlaceForBlobs(file);
    } else {
      const table = tablesOfDump.get(name);
      if (table === undefined) throw damaged(file, number, `it has an unknown table, ${name}`);
      const row = rowIn(file, table, line);
      const task = table === taskTable ? row["id"] : taskParts.includes(table) ? row["task_id"] : undefined;
      if (task !== undefined && !page.has(String(task)))
        throw damaged(file, number, "it has a task that is not in the list before it");
      if (table === taskTable) checkTaskAt(file, number, row, page);
    }
  }
  if (header === undefined) throw damaged(file, 1);
  return { header, tasks };
}

function noPlaceForBlobs(file: string): HoldfastError {
  return new HoldfastError(
    "configuration",
    `${file} also has the bytes of files that tasks keep outside of the store. Name the folder for them: --blobs FOLDER.`,
  );
}

function checkTaskAt(file: string, number: number, row: DumpRow, page: ReadonlyMap<string, number>): void {
  try {
    if (page.get(String(row["id"])) !== row["version"])
      throw new Error("it is another version than in the list");
    checkTask(row);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
    throw damaged(file, number, `its task cannot be read: ${why}`);
  }
}

function pageIn(file: string, { number, value }: NumberedLine): readonly TaskVersion[] {
  const isPage =
    Array.isArray(value) &&
    value.every(
      (each: unknown) => Array.isArray(each) && typeof each[0] === "string" && Number.isSafeInteger(each[1]),
    );
  if (!isPage) throw damaged(file, number, "it is no list of tasks");
  return value as readonly TaskVersion[];
}

/** Marks a store that is to be filled, unless it is marked already. From then on, servers are kept out. */
export async function beginLoad({ header }: CheckedDump, target: LoadTarget): Promise<void> {
  const found = await target.mark();
  const mark = markFor(header, found);
  if (found === undefined) await target.begin(mark);
}

/** Loads a dump that was checked into a marked store, or what an interrupted load has left of it. */
export async function loadDump(
  file: string,
  { header }: CheckedDump,
  target: LoadTarget,
  { partial, blobs, signal }: LoadSetup,
): Promise<void> {
  const found = await target.mark();
  const mark = markFor(header, found);
  if (mark.lines !== null) {
    const writer = new BatchWriter(target, found ?? mark, header.id, signal);
    if (mark.lines === 0) {
      if (header.since !== null) await removeOthers(file, target, writer);
      await writer.write(1);
    }
    await addRows(file, writer, Math.max(1, mark.lines), blobs);
    await writer.write(null);
  }
  if (!partial) await target.open();
}

/** Where the load begins. Throws `configuration` if the dump does not follow what was loaded before. */
export function markFor({ id, since, at }: DumpHeader, mark: LoadMark | undefined): LoadMark {
  if (mark?.dump === id) return mark;
  const begins: LoadMark = { dump: id, lines: 0 };
  if (mark === undefined && since === null) return begins;
  if (mark !== undefined && mark.dump === since && mark.lines === null) return begins;
  throw new HoldfastError(
    "configuration",
    mark === undefined
      ? `The dump of ${at} has only what changed since an earlier one. Load that one first, with --partial, into an empty store.`
      : mark.lines === null
        ? "The store was loaded from another dump, and this file does not continue it. Load a dump that was made with --since and the file that was loaded last, or load that file once more, without --partial."
        : "The store was loaded halfway from another dump. Load that file again, or begin with a new, empty store.",
  );
}

/** Gathers what goes and what comes, and writes it together with the mark. */
class BatchWriter {
  readonly target: LoadTarget;
  readonly #dump: string;
  readonly #signal: AbortSignal;
  /** What is in the store. */
  #stored: LoadMark;
  #removes: string[] = [];
  #empties = false;
  #rows: [DumpTable, DumpRow[]][] = [];
  #count = 0;
  #length = 0;

  constructor(target: LoadTarget, stored: LoadMark, dump: string, signal: AbortSignal) {
    this.target = target;
    this.#stored = stored;
    this.#dump = dump;
    this.#signal = signal;
  }

  get isFull(): boolean {
    return this.#length >= batchLength || this.#count >= mostRows;
  }

  remove(ids: readonly string[]): void {
    this.#removes.push(...ids);
    this.#count += ids.length;
  }

  empty(): void {
    this.#empties = true;
  }

  add(table: DumpTable, row: DumpRow): void {
    const rows = this.#rows.at(-1);
    if (rows?.[0] === table) rows[1].push(row);
    else this.#rows.push([table, [row]]);
    this.#count++;
    for (const value of Object.values(row)) this.#length += typeof value === "string" ? value.length : 8;
  }

  /** For what is stored elsewhere, before the mark moves. */
  passed(bytes: number): void {
    this.#length += bytes;
  }

  async write(lines: number | null): Promise<void> {
    this.#signal.throwIfAborted();
    const to: LoadMark = { dump: this.#dump, lines };
    const [removes, empties, rows] = [this.#removes, this.#empties, this.#rows];
    await this.target.write({ removes, empties, rows, from: this.#stored, to });
    this.#stored = to;
    this.#removes = [];
    this.#empties = false;
    this.#rows = [];
    this.#count = 0;
    this.#length = 0;
  }
}

/**
 * Removes the tasks that the file does not have any more, and those that it has anew: all before the first that comes, since a task may have
 * a key that another one gave up. An interrupted load does it again from the beginning.
 */
async function removeOthers(file: string, target: LoadTarget, writer: BatchWriter): Promise<void> {
  let last = "";
  const removeBetween = async (
    page: ReadonlyMap<string, number>,
    upTo: string | undefined,
  ): Promise<void> => {
    for (let after = last; ;) {
      const ids = await target.ids(after, upTo, mostRows);
      writer.remove(ids.filter((id) => !page.has(id)));
      const end = ids.at(-1);
      if (end === undefined || ids.length < mostRows) return;
      after = end;
      if (writer.isFull) await writer.write(0);
    }
  };
  for await (const { name, value } of linesOf(file)) {
    if (name === "page") {
      const page = new Map(value as readonly TaskVersion[]);
      const [end = ""] = (value as readonly TaskVersion[]).at(-1) ?? [];
      await removeBetween(page, end);
      last = end;
    } else if (name === taskTable.name) writer.remove([String((value as DumpRow)["id"])]);
    if (writer.isFull) await writer.write(0);
  }
  await removeBetween(new Map(), undefined);
}

/** Adds the rows after the line `done`. */
async function addRows(
  file: string,
  writer: BatchWriter,
  done: number,
  blobs: BlobCopies | undefined,
): Promise<void> {
  let isEmptied = false;
  for await (const line of linesOf(file)) {
    const { number, name, value } = line;
    if (name === blobLine && number > done) {
      const blob = blobIn(file, line);
      await blobs?.put(blob);
      writer.passed(blob.data.length);
      if (writer.isFull) await writer.write(number);
    }
    const table = tablesOfDump.get(name);
    if (table === undefined) continue;
    if (number > done) {
      if (!isEmptied && wholeTables.includes(table)) writer.empty();
      writer.add(table, value as DumpRow);
      if (writer.isFull) await writer.write(number);
    }
    isEmptied ||= wholeTables.includes(table);
  }
  if (!isEmptied) writer.empty();
}
