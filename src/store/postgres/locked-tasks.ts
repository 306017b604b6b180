import type { TaskCommand } from "../../task/command.ts";
import { HoldfastError } from "../../task/fault.ts";
import { columnsOf, text } from "../row.ts";
import { toStored } from "../stored-text.ts";
import type { Queries } from "./database.ts";
import type { FactStatements } from "./task-sql.ts";

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
