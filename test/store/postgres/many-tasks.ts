import type { Names } from "../../../src/store/postgres/names.ts";
import { bareTasks } from "./bare-tasks.ts";
import type { SomeSchema } from "./some-schema.ts";

/** By the last digits of a task's number. */
const state = `CASE WHEN n % 20 < 14 THEN CASE WHEN n % 3 = 0 THEN 'cancelled' ELSE 'settled' END
  WHEN n % 20 < 18 THEN 'queued' ELSE 'running' END`;
const isReady = "n % 20 IN (14, 15, 16)";

/** All times of many tasks are at a distance of this from each other (ms). */
export const apart = 1_000;
export const firstTime = 1_700_000_000_000;

const tasks = ({ task }: Names): string =>
  bareTasks(
    task,
    {
      id: "'task-' || lpad(n::text, 9, '0')",
      wire_id: "CASE WHEN n % 5 = 0 THEN 'wire-' || n END",
      generation: "(ARRAY['sep-1686', '2025-11-25', '2026-07-28', 'plain', 'child'])[n % 5 + 1]",
      scope: "CASE WHEN n % 5 = 0 THEN 'scope-' || n % 5000 ELSE '' END",
      principal: "CASE WHEN n % 7 <> 0 THEN 'principal-' || n % 1000 END",
      tool: "'tool-' || n % 19",
      idempotency_key: "CASE WHEN n % 3 = 0 THEN 'key-' || n END",
      state,
      owner: `CASE WHEN n % 20 >= 18 OR ${isReady} AND n % 2 = 0 THEN 'owner-' || n % 4 ELSE '' END`,
      lane: `CASE WHEN ${isReady} THEN (ARRAY['new', 'woken', 'recovered'])[n % 3 + 1] END`,
      run_after: `CASE WHEN n % 20 BETWEEN 14 AND 17 THEN ${firstTime} + n::bigint * ${apart} END`,
      sweep_at: `CASE WHEN n % 11 <> 0 THEN ${firstTime} + n::bigint * ${apart} END`,
      limited: "CASE WHEN n % 20 = 18 AND n % 1000 = 18 THEN 1 ELSE 0 END",
      outcome_kind:
        "CASE WHEN n % 20 < 14 AND n % 3 <> 0 AND n % 1000 <> 1 THEN CASE WHEN n % 100 = 7 THEN 'error' ELSE 'result' END END",
      cause:
        "CASE WHEN n % 20 < 14 AND n % 3 <> 0 AND n % 100 = 7 THEN 'c' || lpad((n % 7)::text, 16, '0') END",
      open_inputs: "CASE WHEN n % 20 >= 14 AND n % 500 = 15 THEN 1 END",
    },
    "FROM generate_series($1::int, $2::int) AS n",
  );

/** What belongs to tasks, of a tenth of them in all states. */
const parts = ({
  request,
  journal,
  outcome,
  child,
  event,
  line,
  piece,
  message,
  session,
  sessionNews,
  usage,
  action,
  bulkJob,
  bulkTask,
  delivery,
  report,
  limitLine,
  limitPlace,
  committed,
}: Names): string[] => {
  const each = `FROM generate_series($1::int, $2::int) AS i, LATERAL (SELECT i * 9 AS n, 'task-' || lpad((i * 9)::text, 9, '0') AS id) AS t`;
  const pair = `FROM generate_series($1::int, $2::int) AS i, generate_series(1, 3) AS k,
    LATERAL (SELECT i * 9 AS n, 'task-' || lpad((i * 9)::text, 9, '0') AS id) AS t`;
  return [
    `INSERT INTO ${request} (task_id, origin, arguments, session, request_id)
      SELECT id, '{}', '{}', 'session-' || n % 9000, n::text ${each}`,
    `INSERT INTO ${journal} (task_id, key, kind, method, request, tries, done_at, place)
      SELECT id, 'key-' || k, (ARRAY['input', 'event', 'step'])[k], CASE WHEN k = 1 THEN 'roots/list' END, 'event', 0,
        CASE WHEN n % 20 < 18 THEN 1 END, k ${pair}`,
    `INSERT INTO ${outcome} (task_id, kind, body) SELECT id, 'result', '{}' ${each}`,
    `INSERT INTO ${child} (id, parent, root, key) SELECT id, 'task-' || lpad((n / 100)::text, 9, '0'), 'task-' || lpad((n / 1000)::text, 9, '0'), 'key-1' ${each}`,
    `INSERT INTO ${event} (task_id, name, value, dedupe_id) SELECT id, 'event', '{}', 'd-' || k ${pair}`,
    `INSERT INTO ${line} (task_id, list, seq, at, step, place, body) SELECT id, 'log', k, 0, '', k - 1, '{}' ${pair}`,
    `INSERT INTO ${piece} (task_id, key, seq, body) SELECT id, 'file', k, '' ${pair}`,
    `INSERT INTO ${message} (task_id, body, owner) SELECT id, '{}', CASE WHEN n % 1000 = 0 THEN 'owner-' || n % 7000 END ${pair}`,
    `INSERT INTO ${session} (id, principal, expires_at, state) SELECT 'session-' || n, 'principal-' || n % 1000, ${firstTime} + n::bigint * ${apart}, '{}' ${each}`,
    `INSERT INTO ${sessionNews} (owner, session, message, at) SELECT 'owner-1', 'session-' || n, '{}', clock_timestamp() - n * interval '1 second' ${each}`,
    `INSERT INTO ${action} (at, actor, action, task_id, tool) SELECT ${firstTime} + n::bigint * ${apart}, 'ann', 'cancel', id, 'tool-3' ${each}`,
    `INSERT INTO ${bulkJob} (id, actor, action, selection, options, created_at, total, started_at, ended_at)
      SELECT 'job-' || lpad((i / 100)::text, 9, '0'), 'ann', 'cancel', '{}', '{}', n, 100, n, CASE WHEN i % 1000 <> 0 THEN n END ${each} WHERE i % 100 = 0`,
    `INSERT INTO ${bulkTask} (job, place, task_id, ended_as)
      SELECT 'job-' || lpad((i / 100)::text, 9, '0'), i % 100, id, CASE WHEN i % 3 <> 0 THEN 'done' END ${each}`,
    `INSERT INTO ${action} (at, actor, action, job) SELECT n, 'ann', 'cancel', 'job-' || lpad((i / 100)::text, 9, '0') ${each} WHERE i % 100 = 0`,
    `INSERT INTO ${delivery} (hook, event, task_id, tool, principal, generation, version, at, due_at, tries, failed_at, problem)
      SELECT 'hook-' || n % 3, 'created', id, 'tool-3', NULL, 'plain', 1, ${firstTime} + n::bigint * ${apart},
        CASE WHEN n % 10 <> 0 THEN ${firstTime} + n::bigint * ${apart} END, 0, CASE WHEN n % 100 = 0 THEN ${firstTime} END, '503' ${each}`,
    `INSERT INTO ${committed} (owner, xid) SELECT 'owner-' || i % 3, -i ${each} WHERE i <= 300`,
    `INSERT INTO ${report} (owner, minute, body) SELECT 'owner-' || n % 3, n, '{}' ${each}`,
    `INSERT INTO ${limitLine} (name, ticket, paused_until, last_at)
      SELECT 'limit-' || n, 0, 0, ${firstTime} + n::bigint * ${apart} ${each}`,
    `INSERT INTO ${limitPlace} (name, task_id, entry, token, owner, turn_of, ticket, phase, since, lives_on)
      SELECT 'limit-' || n % 1000, id, 's', 't1', 'owner-1', 'p', n, CASE WHEN n % 2 = 0 THEN 'past' ELSE 'waiting' END,
        ${firstTime} + n::bigint * ${apart}, 0 ${each}`,
    `INSERT INTO ${usage} SELECT 'principal-' || n, 0, 1, 1 ${each}`,
  ];
};

const handlers = '[{"method":"tools/call","tool":"tool-3"}]';

/** Fills a schema with so many tasks, and lets Postgres learn of what there is. */
export async function putMany(schema: SomeSchema, count: number): Promise<void> {
  await schema.run(tasks(schema.names), [1, count]);
  for (const sql of parts(schema.names)) await schema.run(sql, [1, Math.floor(count / 10)]);
  for (const owner of ["owner-0", "owner-1", "owner-2"]) await schema.putOwner(owner, handlers);
  const {
    task,
    request,
    journal,
    outcome,
    child,
    event,
    line,
    piece,
    message,
    session,
    sessionNews,
    usage,
    action,
    bulkJob,
    bulkTask,
    delivery,
    report,
    limitLine,
    limitPlace,
  } = schema.names;
  const filled = [
    task,
    request,
    journal,
    outcome,
    child,
    event,
    line,
    piece,
    message,
    session,
    sessionNews,
    usage,
    action,
    bulkJob,
    bulkTask,
    delivery,
    report,
    limitLine,
    limitPlace,
  ];
  await schema.run(`ANALYZE ${filled.join(", ")}`);
}
