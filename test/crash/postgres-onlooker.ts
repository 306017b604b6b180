import type { Client } from "pg";
import { taskTable } from "../../src/store/tables/task.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { defaultSchema as schema } from "../places/store-at.ts";
import { withClient } from "../postgres/with-client.ts";
import type { Job } from "./job.ts";
import { answerIn, storeIdSecret } from "../places/encryption.ts";
import { lostPromises } from "./lost-promises.ts";
import type { Rest } from "./needless-runs.ts";
import type { Counted, Leftovers, Life, Onlooker } from "./onlooker.ts";
import type { Tried } from "./tries.ts";

const conditions: Readonly<Record<Counted, string>> = {
  unfinished: "state in ('queued', 'running')",
  keyed: "idempotency_key is not null",
};

/** Looks into a database. */
export class PostgresOnlooker implements Onlooker {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async problems(jobs: readonly Job[]): Promise<string[]> {
    if (jobs.every(({ taskId }) => taskId === undefined)) return []; // the tables may not be there yet
    const told = jobs.map((job) => ({ ...job })); // clients go on meanwhile
    const records = await this.#records();
    const answers = await this.#rows<{ task_id: string; value: string | null }>(
      `select task_id, value from ${schema}.journal where key = 'word'`,
    );
    const [secret] = await this.#rows<{ value: string }>(
      `select value from ${schema}.secret where name = '${storeIdSecret}'`,
    );
    const said = ({ task_id: task, value }: (typeof answers)[number]): [string, string] => [
      task,
      answerIn({ store: secret?.value, task, entry: "word", value }),
    ];
    return lostPromises(
      told,
      new Map(
        records.map(({ id, state, cancelRequestedAt }) => [
          id,
          { state, cancelAsked: cancelRequestedAt !== null },
        ]),
      ),
      new Map(answers.map(said)),
    );
  }

  async napDeadlines(): Promise<Map<string, number>> {
    const rows = await this.#rows<{ task_id: string; deadline_at: string }>(
      `select task_id, deadline_at from ${schema}.journal where kind = 'sleep' and key = 'nap'`,
    );
    return new Map(rows.map((row) => [row.task_id, Number(row.deadline_at)]));
  }

  async tried(): Promise<Tried[]> {
    const rows = await this.#rows<{
      id: string;
      outcome_kind: TaskRecord["outcomeKind"];
      failures: string;
      tries: string | null;
      step_failed: boolean | null;
    }>(
      `select id, outcome_kind, failures, tries, error is not null and done_at is not null as step_failed
       from ${schema}.task left join ${schema}.journal on task_id = id and key = 'tried' where tool = 'tries'`,
    );
    return rows.map(({ id, outcome_kind: outcomeKind, failures, tries, step_failed: stepFailed }) => ({
      task: id,
      outcomeKind,
      failures: Number(failures),
      tries: tries === null ? null : Number(tries),
      stepFailed: stepFailed === true,
    }));
  }

  async resting(): Promise<Rest[]> {
    if (!(await this.#isThere())) return [];
    const at = Date.now();
    const records = await this.#records("state in ('queued', 'running') and lane is null");
    return records.flatMap(({ id, attempt, waiting, runAfter }) =>
      waiting && runAfter !== null ? [{ task: id, attempt, until: runAfter, at }] : [],
    );
  }

  count(what: Counted): Promise<number> {
    return this.#count(`select count(*) as n from ${schema}.task where ${conditions[what]}`);
  }

  async lives(): Promise<Life[]> {
    const records = await this.#records("generation = 'sep-1686'");
    return records.map(({ wireId, finishedAt, sweepAt, runUntil, expiry }) => ({
      wireId,
      finishedAt,
      sweepAt,
      runUntil,
      expiryMs: expiry.ms ?? Number.NaN,
    }));
  }

  async leftovers(): Promise<Leftovers> {
    const records = await this.#records();
    const isWaiting = ({ openInputs, childInputs, openWaits }: TaskRecord): boolean =>
      openInputs > 0 || childInputs > 0 || openWaits > 0;
    const ids = new Set(records.map(({ id }) => id));
    // Called tasks that failed, or were cut off, stay below their roots.
    const isKept = ({ parent, outcomeKind, state }: TaskRecord): boolean =>
      parent !== null &&
      ids.has(parent.root) &&
      (state === "cancelled" || outcomeKind?.startsWith("error") === true);
    const called = records.filter(({ parent, generation }) => parent !== null || generation === "child");
    const kept = called.filter(isKept).length;
    return {
      children: (await this.#count(`select count(*) as n from ${schema}.child`)) - kept,
      tasks: called.length - kept,
      entries: await this.#count(
        `select count(*) as n from ${schema}.journal where task_id not in (select id from ${schema}.task)`,
      ),
      unfinished: await this.#count(`select coalesce(sum(unfinished), 0) as n from ${schema}.usage`),
      waits: records.filter(isWaiting).length,
    };
  }

  /** A transaction of a store waits for what its process says next. */
  async isBeingWritten(): Promise<boolean> {
    const open = await this.#count(
      `select count(*) as n from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'`,
    );
    return open > 0;
  }

  async #isThere(): Promise<boolean> {
    const [row] = await this.#rows<{ found: unknown }>("select to_regclass($1) as found", [`${schema}.task`]);
    return row !== undefined && row.found !== null;
  }

  async #records(condition = "true"): Promise<TaskRecord[]> {
    const rows = await this.#rows<Record<string, string | null>>(
      `select ${taskTable.list()} from ${schema}.task where ${condition}`,
    );
    return rows.map(recordOf);
  }

  async #count(sql: string): Promise<number> {
    const [row] = await this.#rows<{ n: string }>(sql);
    return Number(row?.n);
  }

  async #rows<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    const ask = (client: Client) => client.query<Row>(sql, [...values]);
    return (await withClient(this.#url, ask)).rows;
  }
}

/** With its texts as they are stored. The driver gives numbers as texts. */
function recordOf(row: Readonly<Record<string, string | number | null>>): TaskRecord {
  const types = new Map(taskTable.written.map(({ name, type }) => [name, type]));
  const values = taskTable.names.map((name) => {
    const value = row[name] ?? null;
    return value === null || types.get(name) === "text" ? value : Number(value);
  });
  return taskTable.decode(values);
}
