import { hostname } from "node:os";
import { hasHandler, type HandlerName, type StoreOwner } from "../../task/queue.ts";
import type { TaskRecord } from "../../task/record.ts";
import { handlersIn, handlersText } from "../handler-row.ts";
import type { Statements } from "./statements.ts";
import { columnsOf, idOf, textOrStored, type Row } from "../row.ts";
import * as sql from "./sql.ts";
import { toStored } from "../stored-text.ts";

/** A process that has, or had, the database open. */
export interface KnownOwner extends StoreOwner {
  readonly pid: number;
  readonly host: string;
  /** ISO 8601. */
  readonly since: string;
  /** True once its tasks went to others. It is still known only because some of them were unreadable. */
  readonly retired: boolean;
  /** By when it is to have ended what it works on (epoch ms); null: it takes new work. */
  readonly drainUntil: number | null;
}

const at = columnsOf(["id", "pid", "host", "since", "handlers", "retired", "drainUntil"]);

/** The owners in the database. Only their locks show whether they live. */
export class SqliteOwners {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  all(): readonly KnownOwner[] {
    return this.#sql.all(sql.selectOwners).map(ownerOf);
  }

  /** The ids of owners whose tasks did not go to others. */
  ids(): ReadonlySet<string> {
    return new Set(this.#sql.all(sql.selectOwnerIds).map(idOf));
  }

  /** Whether an owner may take tasks queued for another owner, or for any (null). Another owner keeps them while it has the handler. */
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
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  add({ id, handlers }: StoreOwner): void {
    this.#sql.run(sql.insertOwner, id, process.pid, toStored(hostname()), handlersText(handlers));
  }

  setHandlers(id: string, handlers: readonly HandlerName[]): void {
    this.#sql.run(sql.updateHandlers, handlersText(handlers), id);
  }

  drain(id: string, until: number | null): void {
    this.#sql.run(sql.drainOwner, until, toStored(id));
  }

  /** With `forgetAt`, the time now, the owner is deleted unless it has running tasks left. */
  retire(id: string, forgetAt: number | null): void {
    this.#sql.run(sql.deleteMessagesOfOwner, id);
    this.#sql.run(sql.retireOwner, id);
    if (forgetAt !== null) this.#sql.run(sql.deleteOwner, id, forgetAt);
    this.#sql.run(sql.deleteChangesForNobody);
  }
}

/** For messages to people. */
export function describeOwners(owners: readonly Pick<KnownOwner, "pid" | "host" | "since">[]): string {
  return owners.map(({ pid, host, since }) => `process ${pid} on ${host} since ${since}`).join(", ");
}

/** Also for a damaged row: one unreadable owner must not stop the others. */
function ownerOf(row: Row): KnownOwner {
  return {
    id: idOf(row),
    pid: Number(row[at.pid.place]),
    host: textOrStored(row, at.host),
    since: textOrStored(row, at.since),
    handlers: handlersIn(textOrStored(row, at.handlers)),
    retired: Number(row[at.retired.place]) !== 0,
    drainUntil: row[at.drainUntil.place] === null ? null : Number(row[at.drainUntil.place]),
  };
}
