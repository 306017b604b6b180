import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Job } from "./job.ts";
import { answerIn, storeIdSecret } from "../places/encryption.ts";
import { lostPromises, type TaskRow } from "./lost-promises.ts";
import type { Rest } from "./needless-runs.ts";
import type { Counted, Leftovers, Life, Onlooker } from "./onlooker.ts";
import type { Tried } from "./tries.ts";

const conditions: Readonly<Record<Counted, string>> = {
  unfinished: "state IN ('queued', 'running')",
  keyed: "idempotency_key IS NOT NULL",
};

/** Called tasks that failed, or were cut off, stay below their roots. */
const kept = `SELECT task.id FROM task JOIN child ON child.id = task.id JOIN task AS root ON root.id = child.root
  WHERE task.outcome_kind <> 'result' OR task.state = 'cancelled'`;

/** Looks into a file. */
export class SqliteOnlooker implements Onlooker {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async problems(jobs: readonly Job[]): Promise<string[]> {
    if (!existsSync(this.#path)) return []; // killed before it began
    return this.#read((db) => {
      const checks = db.prepare("PRAGMA integrity_check").all();
      const broken = checks.map((row) => String(row["integrity_check"])).filter((found) => found !== "ok");
      if (jobs.every(({ taskId }) => taskId === undefined)) return broken; // the tables may not be there yet
      return [...broken, ...lostPromises(jobs, readTasks(db), readAnswers(db))];
    });
  }

  async napDeadlines(): Promise<Map<string, number>> {
    const sql = "SELECT task_id, deadline_at FROM journal WHERE kind = 'sleep' AND key = 'nap'";
    return this.#read((db) => {
      const rows = db.prepare(sql).all();
      return new Map(rows.map((row) => [String(row["task_id"]), Number(row["deadline_at"])]));
    });
  }

  async tried(): Promise<Tried[]> {
    const sql = `SELECT id, outcome_kind, failures, tries, error IS NOT NULL AND done_at IS NOT NULL AS step_failed
      FROM task LEFT JOIN journal ON task_id = id AND key = 'tried' WHERE tool = 'tries'`;
    return this.#read((db) =>
      db
        .prepare(sql)
        .all()
        .map((row) => ({
          task: String(row["id"]),
          outcomeKind: row["outcome_kind"] === null ? null : String(row["outcome_kind"]),
          failures: Number(row["failures"]),
          tries: row["tries"] === null ? null : Number(row["tries"]),
          stepFailed: row["step_failed"] === 1,
        })),
    );
  }

  async resting(): Promise<Rest[]> {
    if (!existsSync(this.#path)) return [];
    const at = Date.now();
    const sql = `SELECT id, attempt, run_after FROM task
      WHERE state IN ('queued', 'running') AND waiting = 1 AND lane IS NULL AND run_after IS NOT NULL`;
    return this.#read((db) => {
      const known = db.prepare("SELECT name FROM sqlite_schema WHERE name = 'task_parked'").get();
      const rows = known === undefined ? [] : db.prepare(sql).all();
      return rows.map((row) => ({
        task: String(row["id"]),
        attempt: Number(row["attempt"]),
        until: Number(row["run_after"]),
        at,
      }));
    });
  }

  async count(what: Counted): Promise<number> {
    return this.#read((db) => countOf(db, `SELECT count(*) AS n FROM task WHERE ${conditions[what]}`));
  }

  async lives(): Promise<Life[]> {
    const rows = this.#read((db) => db.prepare("SELECT * FROM task WHERE generation = 'sep-1686'").all());
    return rows.map((row) => ({
      wireId: String(row["wire_id"]),
      finishedAt: numberOrNull(row["finished_at"]),
      sweepAt: numberOrNull(row["sweep_at"]),
      runUntil: numberOrNull(row["run_until"]),
      expiryMs: Number(String(row["expiry"]).split(" ")[1]),
    }));
  }

  async leftovers(): Promise<Leftovers> {
    return this.#read((db) => ({
      children: countOf(db, `SELECT count(*) AS n FROM child WHERE id NOT IN (${kept})`),
      tasks: countOf(
        db,
        `SELECT count(*) AS n FROM task WHERE (parent IS NOT NULL OR generation = 'child') AND id NOT IN (${kept})`,
      ),
      entries: countOf(db, "SELECT count(*) AS n FROM journal WHERE task_id NOT IN (SELECT id FROM task)"),
      unfinished: countOf(db, "SELECT sum(unfinished) AS n FROM usage"),
      waits: countOf(
        db,
        "SELECT count(*) AS n FROM task WHERE open_inputs > 0 OR child_inputs > 0 OR open_waits > 0",
      ),
    }));
  }

  async isBeingWritten(): Promise<boolean> {
    const db = new DatabaseSync(this.#path, { timeout: 0 });
    try {
      db.exec("BEGIN IMMEDIATE; ROLLBACK");
      return false;
    } catch {
      return true;
    } finally {
      db.close();
    }
  }

  #read<T>(read: (db: DatabaseSync) => T): T {
    const db = new DatabaseSync(this.#path, { readOnly: true, timeout: 5_000 });
    try {
      return read(db);
    } finally {
      db.close();
    }
  }
}

function countOf(db: DatabaseSync, sql: string): number {
  return Number(db.prepare(sql).get()?.["n"] ?? 0);
}

function numberOrNull(value: unknown): number | null {
  return value === null ? null : Number(value);
}

function readTasks(db: DatabaseSync): ReadonlyMap<string, TaskRow> {
  const rows = db.prepare("SELECT id, state, cancel_requested_at FROM task").all();
  return new Map(
    rows.map((row) => [
      String(row["id"]),
      { state: String(row["state"]), cancelAsked: row["cancel_requested_at"] !== null },
    ]),
  );
}

function readAnswers(db: DatabaseSync): ReadonlyMap<string, string> {
  const rows = db.prepare("SELECT task_id, value FROM journal WHERE key = 'word'").all();
  const store = db.prepare("SELECT value FROM secret WHERE name = ?").get(storeIdSecret)?.["value"];
  return new Map(
    rows.map((row) => {
      const task = String(row["task_id"]);
      return [task, answerIn({ store, task, entry: "word", value: row["value"] })];
    }),
  );
}
