import type { Names } from "./names.ts";
import type { Database } from "./database.ts";
import { applyLimit, limitPlacesOf, limitSql, limitTables } from "../limit-sql.ts";
import type { LimitStore } from "../limits.ts";
import type { TaskChange } from "../store.ts";
import type { Owners } from "./ownership.ts";
import { storeFailed } from "./postgres-error.ts";
import { inTurn, readsOf } from "./read-task.ts";

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

/** `publish` is told of the tasks of other processes that got a permit. `open` throws unless the store is open. */
export function postgresLimits(
  names: Names,
  open: () => LimitParts,
  publish: (changes: readonly TaskChange[]) => void,
): LimitStore {
  const sql = limitStatements(names);
  return {
    call: async (call) => {
      const { owner, owners } = open();
      const { answer, others } = await owners
        .writeInSteps((queries) => inTurn(queries, applyLimit(sql, owner, call)))
        .catch((error: unknown) => {
          throw storeFailed(error);
        });
      if (others.length > 0) publish(others.map((id) => ({ id, version: 0 })));
      return answer;
    },
    ofTask: (taskId) =>
      limitPlacesOf(
        sql,
        readsOf(() => open().database),
        taskId,
      ),
  };
}
