import { hostname } from "node:os";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { hasHandler, type HandlerName, type StoreOwner } from "../../task/owner.ts";
import type { TaskRecord } from "../../task/record.ts";
import { handlersIn, handlersText } from "../handler-row.ts";
import { prepareRows, type RowStatement } from "./row-statement.ts";
import { columnsOf, idOf, textOrStored, type Row } from "../row.ts";
import * as sql from "./sql.ts";
import { toStored } from "../stored-text.ts";

/** A process that has, or had, the database open. */
export interface KnownOwner extends StoreOwner {
  readonly pid: number;
  readonly host: string;
  /** ISO 8601. */
  readonly since: string;
  /** True once its tasks were given to others: it is known only since some of them could not be read. */
  readonly retired: boolean;
}

const at = columnsOf(["id", "pid", "host", "since", "handlers", "retired"]);

/** Who has the database open, as the database says: whether they live, their locks say. */
export class SqliteOwners {
  readonly #select: RowStatement;
  readonly #selectIds: RowStatement;

  constructor(db: DatabaseSync) {
    this.#select = prepareRows(db, sql.selectOwners);
    this.#selectIds = prepareRows(db, sql.selectOwnerIds);
  }

  all(): readonly KnownOwner[] {
    return this.#select.all().map(ownerOf);
  }

  /** The ids of those whose tasks were not given to others. */
  ids(): ReadonlySet<string> {
    return new Set(this.#selectIds.all().map(idOf));
  }

  /** Whether an owner may take what is queued for another one, or for any (null): it is left to another one that has the handler. */
  mayTake(own: string): (owner: string | null, handler: HandlerName) => boolean {
    let known: readonly KnownOwner[] | undefined;
    const keeps = (owner: string, handler: HandlerName): boolean => {
      known ??= this.all().filter(({ retired }) => !retired);
      return known.some(({ id, handlers }) => id === owner && hasHandler(handlers, handler));
    };
    return (owner, handler) => owner === null || owner === own || !keeps(owner, handler);
  }

  serve(task: Pick<TaskRecord, "method" | "tool">): boolean {
    return this.all().some(({ handlers, retired }) => !retired && hasHandler(handlers, task));
  }
}

/** The writes of the table. */
export class OwnerWrites {
  readonly #insert: StatementSync;
  readonly #updateHandlers: StatementSync;
  readonly #retire: StatementSync;
  readonly #delete: StatementSync;
  readonly #deleteMessages: StatementSync;
  readonly #deleteChanges: StatementSync;

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(sql.insertOwner);
    this.#updateHandlers = db.prepare(sql.updateHandlers);
    this.#retire = db.prepare(sql.retireOwner);
    this.#delete = db.prepare(sql.deleteOwner);
    this.#deleteMessages = db.prepare(sql.deleteMessagesOfOwner);
    this.#deleteChanges = db.prepare(sql.deleteChangesForNobody);
  }

  add({ id, handlers }: StoreOwner): void {
    this.#insert.run(id, process.pid, toStored(hostname()), handlersText(handlers));
  }

  setHandlers(id: string, handlers: readonly HandlerName[]): void {
    this.#updateHandlers.run(handlersText(handlers), id);
  }

  /** With `forgetAt`, the time now, it is deleted unless running tasks of it are left. */
  retire(id: string, forgetAt: number | null): void {
    this.#deleteMessages.run(id);
    this.#retire.run(id);
    if (forgetAt !== null) this.#delete.run(id, forgetAt);
    this.#deleteChanges.run();
  }
}

/** For messages to people. */
export function describeOwners(owners: readonly Pick<KnownOwner, "pid" | "host" | "since">[]): string {
  return owners.map(({ pid, host, since }) => `process ${pid} on ${host} since ${since}`).join(", ");
}

/** Of a damaged row, too: one owner that cannot be read keeps no other from its work. */
function ownerOf(row: Row): KnownOwner {
  return {
    id: idOf(row),
    pid: Number(row[at.pid.place]),
    host: textOrStored(row, at.host),
    since: textOrStored(row, at.since),
    handlers: handlersIn(textOrStored(row, at.handlers)),
    retired: Number(row[at.retired.place]) !== 0,
  };
}
