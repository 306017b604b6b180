import type { Names } from "./names.ts";
import { outboxSql } from "../outbox-reads.ts";
import type { Database, Queries } from "./database.ts";
import { applyLimit, type LimitApplied, limitPlacesOf, limitSql, limitTables } from "../limit-sql.ts";
import type { LimitAnswer, LimitCall, LimitPlace, LimitStore } from "../limits.ts";
import type { TaskChange } from "../store.ts";
import type { Owners } from "./ownership.ts";
import { storeFailed } from "./postgres-error.ts";
import { inTurn, readsOf } from "./read-task.ts";

export function outboxStatements(names: Names) {
  return outboxSql(names, "postgres");
}

export type OutboxStatements = ReturnType<typeof outboxStatements>;

/** What limits need from an open store. */
interface LimitParts {
  readonly database: Pick<Database, "read" | "codecs">;
  readonly owner: string;
  readonly owners: Pick<Owners, "writeInSteps">;
}

export function limitSchema(names: Names): string {
  return limitTables(names, {
    integer: "bigint",
    text: 'text COLLATE "C"',
    serial: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    options: " WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)",
  });
}

export function limitStatements(names: Names) {
  return limitSql(names, "postgres");
}

export class PostgresLimits implements LimitStore {
  readonly #sql: ReturnType<typeof limitStatements>;
  /** Throws `store_closed` unless the store is open. */
  readonly #open: () => LimitParts;
  /** Is told of the tasks of other processes that got a permit. */
  readonly #publish: (changes: readonly TaskChange[]) => void;

  constructor(names: Names, open: () => LimitParts, publish: (changes: readonly TaskChange[]) => void) {
    this.#sql = limitStatements(names);
    this.#open = open;
    this.#publish = publish;
  }

  async call(call: LimitCall): Promise<LimitAnswer> {
    const { owner, owners } = this.#open();
    const { answer, others } = await owners
      .writeInSteps((queries) => this.#apply(queries, owner, call))
      .catch((error: unknown) => {
        throw storeFailed(error);
      });
    if (others.length > 0) this.#publish(others.map((id) => ({ id, version: 0 })));
    return answer;
  }

  ofTask(taskId: string): Promise<readonly LimitPlace[]> {
    return limitPlacesOf(
      this.#sql,
      readsOf(() => this.#open().database),
      taskId,
    );
  }

  #apply(queries: Queries, owner: string, call: LimitCall): Promise<LimitApplied> {
    return inTurn(queries, applyLimit(this.#sql, owner, call));
  }
}
