import type { TaskCommand } from "../../task/command.ts";
import { HoldfastError } from "../../task/fault.ts";
import { isOfOneTask } from "../command-traits.ts";
import { type Codec, columnsOf, text, toStored } from "../row.ts";
import type { Queries } from "./database.ts";
import type { FactStatements } from "./task-sql.ts";
import type { JournalEntry } from "../../task/journal.ts";
import type { TaskRecord } from "../../task/record.ts";
import { factsFor } from "../facts.ts";
import { type GroupFacts, noFacts } from "./group-facts.ts";
import type { Names } from "./names.ts";
import { hasMarkIn } from "./ownership.ts";
import type { Statement } from "./group-writes.ts";

/** Commands of a group are about tasks that another transaction has locked: the others must continue without them. */
export class TasksLocked extends HoldfastError {
  readonly ids: ReadonlySet<string>;

  constructor(ids: ReadonlySet<string>) {
    super("store_failed", `Another transaction holds locks on these tasks: ${[...ids].join(", ")}.`);
    this.ids = ids;
  }
}

/** The tasks that others were found to have locked, for example with an idle transaction. */
export class LockedTasks {
  readonly #queries: Queries;
  readonly #sql: Pick<FactStatements, "lockedTasks">;
  #known: ReadonlySet<string> = new Set();

  constructor(queries: Queries, sql: Pick<FactStatements, "lockedTasks">) {
    this.#queries = queries;
    this.#sql = sql;
  }

  /** Throws `TasksLocked` if commands are about tasks that were locked last time, and still are: nobody waits for them twice. */
  async assertFree(commands: readonly TaskCommand[]): Promise<void> {
    if (this.#known.size > 0 && idsOf(commands).some((id) => this.#known.has(id))) await this.find(commands);
  }

  /** Call this after waiting for a lock in vain. */
  async find(commands: readonly TaskCommand[]): Promise<void> {
    const ids = idsOf(commands);
    const rows =
      ids.length === 0 ? [] : await this.#queries.query(this.#sql.lockedTasks, [ids.map(toStored)]);
    this.#known = new Set(rows.map((row) => text(row, at.id)));
    if (this.#known.size > 0) throw new TasksLocked(this.#known);
  }
}

const at = columnsOf(["id"]);

function idsOf(commands: readonly TaskCommand[]): readonly string[] {
  return commands.flatMap((command) => ("id" in command ? command.id : []));
}

/** How many tasks are known at a time, and how many entries of a journal. */
const mostTasks = 1_000;
const mostEntries = 200;

interface Known {
  readonly task: TaskRecord;
  /** The whole journal. */
  readonly entries: Map<string, JournalEntry | Error>;
}

/**
 * The tasks whose rows and journals this process has written alone, since it runs their first attempts: it need not read them to decide a
 * command, and writes it as a statement that does nothing if somebody else has changed such a task. Every change has a version of its own,
 * unless a failover has undone some: then others may write the same version anew, and nothing is known any more.
 */
export class KnownTasks {
  readonly #owner: string;
  readonly #sql: ReturnType<typeof guardStatements>;
  readonly #tasks = new Map<string, Known>();

  constructor(names: Names, owner: string) {
    this.#owner = owner;
    this.#sql = guardStatements(names);
  }

  /**
   * What is known for these commands, which is then forgotten, and fails if it is not true any more; undefined if it is not enough. `last` is
   * the mark of this owner's last group.
   */
  take(
    commands: readonly TaskCommand[],
    codec: Codec,
    last: string | null,
  ): { readonly facts: GroupFacts; readonly guard: Statement } | undefined {
    if (!commands.every((command) => this.#isEnoughFor(command))) return undefined;
    const facts = noFacts(codec);
    for (const command of commands) {
      const known = "id" in command ? this.#tasks.get(command.id) : undefined;
      if (known === undefined) continue;
      this.#tasks.delete(known.task.id);
      facts.tasks.set(known.task.id, known.task);
      facts.entries.set(known.task.id, known.entries);
    }
    const tasks = [...facts.tasks.values()].flatMap((task) => (task instanceof Error ? [] : task));
    const values = [
      this.#owner,
      tasks.map(({ id }) => toStored(id)),
      tasks.map(({ version }) => version),
      tasks.length,
      last,
    ];
    return { facts, guard: { sql: this.#sql.held, values } };
  }

  /** Commits may have been undone. */
  forget(): void {
    this.#tasks.clear();
  }

  /** After a commit of a group: `before` are its tasks as they were read, `facts` as they are now. */
  learn(before: ReadonlyMap<string, TaskRecord | Error>, { tasks, entries }: GroupFacts): void {
    for (const [id, task] of tasks) {
      const known = this.#tasks.get(id);
      this.#tasks.delete(id);
      const earlier = before.get(id);
      if (task instanceof Error || earlier instanceof Error) continue;
      const isFirst = earlier === undefined || earlier.startedAt === null;
      if (isFirst && !task.journalled) this.#keep(task, entries.get(id));
      else if (known !== undefined && earlier?.version === known.task.version)
        this.#keep(task, new Map([...known.entries, ...(entries.get(id) ?? [])]));
    }
  }

  /** After a commit that was decided by what was known. */
  relearn({ tasks, entries }: GroupFacts): void {
    for (const [id, task] of tasks) if (!(task instanceof Error)) this.#keep(task, entries.get(id));
  }

  #keep(task: TaskRecord, entries: Known["entries"] = new Map()): void {
    if (task.state !== "running" || task.owner !== this.#owner || task.parent !== null) return;
    if (entries.size > mostEntries) return;
    this.#tasks.set(task.id, { task, entries });
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > mostTasks && oldest !== undefined) this.#tasks.delete(oldest);
  }

  #isEnoughFor(command: TaskCommand): boolean {
    if (!isOfOneTask(command) || ("artifact" in command && command.artifact === true)) return false;
    const { task: asked } = factsFor(command);
    const known = asked && this.#tasks.get(asked.id);
    return known !== undefined && (!asked?.children || known.task.openWaits === 0);
  }
}

export function guardStatements({ owner, task, committed }: Names) {
  return {
    /**
     * Fails unless the owner may write, its last group is there, and the tasks have these versions; until its transaction ends, that stays so. The error is that of
     * a text that is no number, since nothing else makes a statement fail by itself.
     */
    held: `WITH fence AS MATERIALIZED (SELECT 1 FROM ${owner} WHERE id = $1 AND retired = 0 FOR KEY SHARE),
      held AS MATERIALIZED (SELECT 1 FROM ${task} JOIN unnest($2::text[], $3::bigint[]) AS known (id, version)
        ON task.id = known.id AND task.version = known.version ORDER BY task.id FOR UPDATE OF task)
      SELECT CASE WHEN (SELECT count(*) FROM held) = $4::int AND EXISTS (SELECT FROM fence)
          AND ${hasMarkIn(committed, "$1", "$5::bigint")} THEN 1
        ELSE ('Others have changed a task; still as known: ' || (SELECT count(*) FROM held))::int END`,
  };
}
