import type { InputRequest, JournalEntry } from "../task/journal.ts";
import type { TaskRecord } from "../task/record.ts";
import type { LineList, TaskLine } from "../task/task-line.ts";
import { tasksIn } from "../store/admin-reads.ts";
import { adminStatements } from "../store/sqlite/admin-sql.ts";
import { taskStatements } from "../store/sqlite/sql.ts";
import { entryOf, linesOf } from "../store/task-reads.ts";
import type { MemoryDatabase } from "../store/sqlite/memory-store.ts";

/** More than any test has. */
const all = Number.MAX_SAFE_INTEGER;

/** What the processes of a test have stored, read between two commits, without waiting. */
export class CommittedTasks {
  readonly #database: MemoryDatabase;

  constructor(database: MemoryDatabase) {
    this.#database = database;
  }

  /** Oldest first. */
  records(): readonly TaskRecord[] {
    return this.#database.reader
      .read((codec) => tasksIn(adminStatements, codec, { of: "all" }, null, all))
      .toReversed();
  }

  record(id: string): TaskRecord | undefined {
    return this.#database.reader.task(id);
  }

  /** The task that its client knows by this id. */
  named(wireId: string): TaskRecord | undefined {
    return this.record(wireId) ?? this.records().find((record) => record.wireId === wireId);
  }

  entry(id: string, key: string): JournalEntry | undefined {
    return this.#database.reader.read((codec) => entryOf(taskStatements, codec, id, key));
  }

  /** In the order of first writes. */
  entries(id: string): readonly JournalEntry[] {
    const { reader } = this.#database;
    const heads = [];
    for (let from: string | null = ""; from !== null;) {
      const page = reader.journal(id, from, all);
      heads.push(...page.entries);
      from = page.next;
    }
    return heads.toSorted((a, b) => a.place - b.place).flatMap(({ key }) => this.entry(id, key) ?? []);
  }

  /** The unanswered questions of a task and of the tasks below it. */
  openInputs(id: string): readonly InputRequest[] {
    return this.#database.reader.snapshot(id, () => true)?.inputs ?? [];
  }

  lines(id: string, list: LineList): readonly TaskLine[] {
    return this.#database.reader.read((codec) => linesOf(taskStatements, codec, id, list, 0, all));
  }

  /** Whether a process lives that works on the task, or can begin with it. */
  isServed({ state, owner, lane, method, tool }: TaskRecord): boolean {
    const { living } = this.#database;
    if (owner === null ? living.length === 0 : !living.includes(owner)) return false;
    if (state === "running") return true;
    return state === "queued" && lane !== null && this.#database.hasHandler({ method, tool });
  }

  get hasProcess(): boolean {
    return this.#database.living.length > 0;
  }
}
