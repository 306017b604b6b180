import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { asksWithoutLimit, type Job } from "./job.ts";
import type { Rest } from "./needless-runs.ts";
import type { Tried } from "./tries.ts";

interface TaskRow {
  readonly state: string;
  readonly cancelAsked: boolean;
}

/** Reads the database that a killed server left, and lets go of it before the next one starts. */
export class Onlooker {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** What is broken, and what was acknowledged and is not there: there must be nothing. */
  problems(jobs: readonly Job[]): string[] {
    if (!existsSync(this.#path)) return []; // killed before it began
    return this.#read((db) => {
      const checks = db.prepare("PRAGMA integrity_check").all();
      const broken = checks.map((row) => String(row["integrity_check"])).filter((found) => found !== "ok");
      const known = jobs.filter(({ taskId }) => taskId !== undefined);
      if (known.length === 0) return broken; // the tables may not be there yet
      const tasks = readTasks(db);
      const answers = readAnswers(db);
      return [...broken, ...known.flatMap((job) => lostOf(job, tasks, answers))];
    });
  }

  /** When each nap is to end (epoch ms), by task. */
  napDeadlines(): Map<string, number> {
    const sql = "SELECT task_id, deadline_at FROM journal WHERE kind = 'sleep' AND key = 'nap'";
    return this.#read((db) => {
      const rows = db.prepare(sql).all();
      return new Map(rows.map((row) => [String(row["task_id"]), Number(row["deadline_at"])]));
    });
  }

  /** The tasks of `tries`, and how often they and their steps have failed. */
  tried(): Tried[] {
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

  /** The tasks whose handlers rest, parked or not. */
  resting(): Rest[] {
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

  count(where: string): number {
    return this.#read((db) =>
      Number(db.prepare(`SELECT count(*) AS n FROM task WHERE ${where}`).get()?.["n"]),
    );
  }

  /** Whether somebody is in the middle of a write now. */
  isBeingWritten(): boolean {
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
  return new Map(rows.map((row) => [String(row["task_id"]), String(row["value"])]));
}

/** What a client was told about its job, and the database does not have. */
function lostOf(
  { taskId = "", tool, answer, cancelAcknowledged, ended, core }: Job,
  tasks: ReadonlyMap<string, TaskRow>,
  answers: ReadonlyMap<string, string>,
): string[] {
  const row = tasks.get(taskId);
  if (row === undefined) return [`task ${taskId} is lost`];
  const isOver = row.state === "settled" || row.state === "cancelled";
  const lost: string[] = [];
  if (ended !== undefined && !isOver) lost.push(`the end of ${taskId} is lost`);
  if (cancelAcknowledged === true && !row.cancelAsked && !isOver)
    lost.push(`the cancel of ${taskId} is lost`);
  if (core && cancelAcknowledged === true && row.state !== "cancelled")
    lost.push(`${taskId} was cancelled and is ${row.state}`);
  // Elsewhere an answer can come too late to count.
  const counts = asksWithoutLimit.has(tool) && answer !== undefined && !isOver;
  if (counts && answers.get(taskId)?.includes(answer) !== true) lost.push(`the answer to ${taskId} is lost`);
  return lost;
}
