import { applyLimit, limitPlaceOf, type LimitApplied } from "../apply-limit.ts";
import { limitSql, limitTables } from "../limit-sql.ts";
import type { LimitAnswer, LimitCall, LimitPlace, LimitStore } from "../limits.ts";
import type { TaskChange } from "../store.ts";
import { toStored } from "../stored-text.ts";
import type { Database, Queries } from "./database.ts";
import type { Names } from "./names.ts";
import type { Owners } from "./ownership.ts";
import { storeFailed } from "./postgres-error.ts";

/** What limits need from an open store. */
interface LimitParts {
  readonly database: Pick<Database, "read">;
  readonly owner: string;
  readonly owners: Pick<Owners, "writeInSteps">;
}

export function limitSchema({ limitLine, limitPlace }: Names): string {
  return limitTables(
    { line: limitLine, place: limitPlace },
    {
      integer: "bigint",
      text: 'text COLLATE "C"',
      serial: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
      options: " WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)",
    },
  );
}

/** Their times are those of the database: the clocks of machines differ. */
export function limitStatements({ limitLine, limitPlace, task, owner }: Names) {
  return limitSql({
    line: limitLine,
    place: limitPlace,
    task,
    owner,
    now: "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
    unlocked: " FOR UPDATE SKIP LOCKED",
  });
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

  async ofTask(taskId: string): Promise<readonly LimitPlace[]> {
    return (await this.#open().database.read(this.#sql.ofTask, [toStored(taskId)])).map(limitPlaceOf);
  }

  async #apply(queries: Queries, owner: string, call: LimitCall): Promise<LimitApplied> {
    const steps = applyLimit(this.#sql, owner, call);
    for (let step = steps.next(); ;) {
      if (step.done === true) return step.value;
      const { sql, values } = step.value;
      step = steps.next(await queries.query(sql, values));
    }
  }
}
