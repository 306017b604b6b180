import { randomUUID } from "node:crypto";
import { type BlobCopies, blobSecret, isKeptInBlobs, toBlobLine } from "./blobs.ts";
import { foreign, linesOf, writeDump, type DumpHeader, type DumpLine } from "./dump-file.ts";
import {
  checkTask,
  journalTable,
  secretTable,
  taskParts,
  taskTable,
  wholeTables,
  type DumpRow,
  type DumpTable,
} from "./dump-tables.ts";
import { HoldfastError } from "../task/fault.ts";
import { check } from "./secrets.ts";

/** The id of a task, as stored, and the version of its record. Every write to what belongs to a task raises it. */
export type TaskVersion = readonly [id: string, version: number];

/** What a dump reads of a store, all in one snapshot. */
export interface DumpSource {
  readonly store: DumpHeader["store"];
  readonly original: DumpHeader["original"];
  /** The next tasks after an id, in the order of the bytes of their ids. */
  versions(after: string, limit: number): Promise<readonly TaskVersion[]>;
  /** The rows of some tasks, in the order of the table. */
  of(table: DumpTable, ids: readonly string[]): AsyncIterable<DumpRow>;
  whole(table: DumpTable): AsyncIterable<DumpRow>;
}

export interface DumpSetup {
  /** Epoch ms. */
  readonly now: number;
  /** An earlier dump of the same store: only what changed since then is written, beside the ids of all tasks. */
  readonly since: string | undefined;
  /** Where tasks keep the bytes of artifacts, if they are to be in the dump and are not in the store. */
  readonly blobs?: BlobCopies | undefined;
  readonly signal: AbortSignal;
}

/** The dump that was made. */
export interface MadeDump {
  /** How many tasks the store had, and how many of them are in this file with all they have. */
  readonly tasks: number;
  readonly changed: number;
  /** The ids of tasks that could not be read, and are not in the dump. */
  readonly unreadable: readonly string[];
  /** How many tasks have files outside of the store that are not in the dump. */
  readonly withoutFiles: number;
  /** The size of the file. */
  readonly bytes: number;
}

/** Tasks per page: each page has the ids and versions of its tasks, and then the rows of those that changed. */
const pageLength = 500;

/** Writes a dump of a store to a file that must not exist yet. */
export async function dumpSource(source: DumpSource, file: string, setup: DumpSetup): Promise<MadeDump> {
  const base = setup.since === undefined ? undefined : await DumpedVersions.of(setup.since);
  const secrets = await secretsIn(source);
  const sealed = secrets.get(check) ?? null;
  if (base !== undefined && base.sealed !== sealed) {
    await base.close();
    throw resealed(setup.since ?? "");
  }
  const header: DumpHeader = {
    id: randomUUID(),
    since: base?.dump ?? null,
    sealed,
    at: new Date(setup.now).toISOString(),
    store: source.store,
    original: source.original,
  };
  const found: Found = { tasks: 0, changed: 0, unreadable: [], withoutFiles: 0 };
  const kept = { blobs: setup.blobs, mayHave: secrets.has(blobSecret) };
  const bytes = await writeDump(file, header, linesFrom(source, base, found, kept), setup.signal);
  return { ...found, bytes };
}

async function secretsIn(source: DumpSource): Promise<ReadonlyMap<string, string>> {
  const secrets = new Map<string, string>();
  for await (const { name, value } of source.whole(secretTable)) secrets.set(String(name), String(value));
  return secrets;
}

/** Sealing raises no versions: tasks that did not change would stay in clear, which is refused, or sealed with a key that is gone. */
function resealed(since: string): HoldfastError {
  return new HoldfastError(
    "configuration",
    `The store was encrypted anew after ${since} was made, so a dump of what changed since then would not be complete. Make one of everything, without --since.`,
  );
}

interface Found {
  tasks: number;
  changed: number;
  unreadable: string[];
  withoutFiles: number;
}

/** The files of tasks that are outside of the store. */
interface KeptFiles {
  readonly blobs: BlobCopies | undefined;
  /** Whether the store may have any. */
  readonly mayHave: boolean;
}

async function* linesFrom(
  source: DumpSource,
  base: DumpedVersions | undefined,
  found: Found,
  files: KeptFiles,
): AsyncGenerator<DumpLine> {
  try {
    for (let after = ""; ;) {
      const versions = await source.versions(after, pageLength);
      yield* pageOf(source, versions, base, found, files);
      const last = versions.at(-1);
      if (last === undefined || versions.length < pageLength) break;
      [after] = last;
    }
    await base?.end();
  } finally {
    await base?.close();
  }
  for (const table of wholeTables) for await (const row of source.whole(table)) yield { [table.name]: row };
}

async function* pageOf(
  source: DumpSource,
  versions: readonly TaskVersion[],
  base: DumpedVersions | undefined,
  found: Found,
  { blobs, mayHave }: KeptFiles,
): AsyncGenerator<DumpLine> {
  const changed: string[] = [];
  for (const version of versions) if (!(await base?.has(version))) changed.push(version[0]);
  const tasks = await readableTasks(source, changed);
  const lost = new Set(changed.filter((id) => !tasks.has(id)));
  const page = versions.filter(([id]) => !lost.has(id));
  found.tasks += page.length;
  found.changed += tasks.size;
  found.unreadable.push(...lost);
  if (page.length > 0) yield { page };
  for (const task of tasks.values()) yield { [taskTable.name]: task };
  const missing = new Set<string>();
  if (tasks.size > 0)
    for await (const [table, row] of partsOf(source, [...tasks.keys()])) {
      if (table === journalTable && isKeptInBlobs(row, mayHave)) missing.add(String(row["task_id"]));
      yield { [table.name]: row };
    }
  // Those that the journal names were complete before it did.
  if (blobs !== undefined)
    for (const id of tasks.keys())
      for await (const blob of blobs.of(id)) {
        missing.delete(id);
        yield toBlobLine(id, blob);
      }
  found.withoutFiles += missing.size;
}

async function readableTasks(
  source: DumpSource,
  ids: readonly string[],
): Promise<ReadonlyMap<string, DumpRow>> {
  const tasks = new Map<string, DumpRow>();
  if (ids.length === 0) return tasks;
  for await (const row of source.of(taskTable, ids)) {
    try {
      checkTask(row);
      tasks.set(String(row["id"]), row);
    } catch {
      // It is named as unreadable.
    }
  }
  return tasks;
}

async function* partsOf(
  source: DumpSource,
  ids: readonly string[],
): AsyncGenerator<readonly [table: DumpTable, row: DumpRow]> {
  for (const table of taskParts) for await (const row of source.of(table, ids)) yield [table, row];
}

/** The versions that an earlier dump has, read along with those of the store: both are in the order of their ids. */
class DumpedVersions {
  readonly dump: string;
  readonly sealed: string | null;
  readonly #versions: AsyncGenerator<TaskVersion, void>;
  #next: TaskVersion | undefined;

  private constructor({ id, sealed }: DumpHeader, versions: AsyncGenerator<TaskVersion, void>) {
    this.dump = id;
    this.sealed = sealed;
    this.#versions = versions;
  }

  static async of(file: string): Promise<DumpedVersions> {
    const lines = linesOf(file);
    const first = await lines.next();
    if (first.done === true) throw foreign(file);
    const versions = new DumpedVersions(first.value.value as DumpHeader, versionsIn(lines));
    await versions.#advance();
    return versions;
  }

  async has([id, version]: TaskVersion): Promise<boolean> {
    while (this.#next !== undefined && compareIds(this.#next[0], id) < 0) await this.#advance();
    return this.#next?.[0] === id && this.#next[1] === version;
  }

  /** Reads what is left, so that the whole file is checked. */
  async end(): Promise<void> {
    while (this.#next !== undefined) await this.#advance();
  }

  async close(): Promise<void> {
    await this.#versions.return();
  }

  async #advance(): Promise<void> {
    const next = await this.#versions.next();
    this.#next = next.done === true ? undefined : next.value;
  }
}

async function* versionsIn(lines: ReturnType<typeof linesOf>): AsyncGenerator<TaskVersion, void> {
  for await (const { name, value } of lines) if (name === "page") yield* value as readonly TaskVersion[];
}

/** In the order of their bytes, as databases have them. */
export function compareIds(one: string, other: string): number {
  return one === other ? 0 : Buffer.compare(Buffer.from(one), Buffer.from(other));
}
