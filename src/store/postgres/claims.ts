import type { Names } from "./names.ts";
import { isTried, isReady as ready, recordList } from "../tables/task.ts";
import {
  type ClaimingHandler,
  compareNames,
  type HandlerName,
  hasHandler,
  type Turns,
} from "../../task/queue.ts";
import { latestTime } from "../../task/time.ts";
import {
  type FairlyTaken,
  type FairQuery,
  type ReadyTask,
  type ReadyTasks,
  takeFairly,
} from "../fair-order.ts";
import type { RunnableTasks } from "../facts.ts";
import { handlerText } from "../admin-store.ts";
import { columnsOf, integer, type Row, text, textOrStored, toStored } from "../row.ts";
import type { Queries } from "./database.ts";
import { type GroupFacts, recordsOf } from "./group-facts.ts";

export function claimStatements({ schema, task, owner }: Names) {
  const principalOf = (after: string): string => `(SELECT coalesce(principal, '') FROM ${task}
    WHERE ${ready} AND task.owner = line.owner AND task.method = line.method AND task.tool = line.tool AND ${after}
    ORDER BY coalesce(principal, '') LIMIT 1)`;
  return {
    /**
     * For each of these handlers and each owner whose tasks may be claimed (not those of another living owner that has the handler): the
     * principals after the one with the last turn, and the first ones; for each of their lanes the first tasks. One seek for each of these,
     * however many tasks there are. It walks the lines that exist, not all handlers of all owners: of these, Postgres would expect so many
     * rows that it compiles the statement before it runs it.
     */
    heads: `WITH RECURSIVE handler (method, tool, after, text) AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $8::text[])),
      existing (owner, method, tool) AS (
        (SELECT owner, method, tool FROM ${task} WHERE ${ready} ORDER BY owner, method, tool LIMIT 1)
        UNION ALL
        SELECT next.owner, next.method, next.tool FROM existing CROSS JOIN LATERAL (
          SELECT owner, method, tool FROM ${task} WHERE ${ready}
            AND (task.owner, task.method, task.tool) > (existing.owner, existing.method, existing.tool)
          ORDER BY owner, method, tool LIMIT 1) AS next),
      line AS (
        SELECT existing.*, handler.after FROM existing JOIN handler USING (method, tool)
        WHERE existing.owner = '' OR existing.owner = $4
          OR NOT EXISTS (SELECT 1 FROM ${owner} AS other WHERE other.id = existing.owner AND other.retired = 0
            AND position(handler.text IN other.handlers) > 0)),
      principal (owner, method, tool, name, place) AS (
        SELECT owner, method, tool, ${principalOf("coalesce(principal, '') >= ''")}, 1 FROM line
        UNION ALL
        SELECT owner, method, tool, ${principalOf("coalesce(principal, '') > line.after")}, 1 FROM line
        WHERE line.after IS NOT NULL
        UNION ALL
        SELECT owner, method, tool, ${principalOf("coalesce(principal, '') > line.name")}, line.place + 1
        FROM principal AS line WHERE line.name IS NOT NULL AND line.place <= $5)
      SELECT line.owner, line.method, line.tool, line.name, lane.name, head.id, head.run_after
      FROM (SELECT DISTINCT owner, method, tool, name FROM principal WHERE name IS NOT NULL) AS line
      CROSS JOIN unnest(ARRAY['new', 'woken', 'recovered', 'suspect']) AS lane (name)
      CROSS JOIN LATERAL (
        SELECT id, run_after FROM ${task}
        WHERE ${ready} AND task.owner = line.owner AND task.method = line.method AND task.tool = line.tool
          AND coalesce(principal, '') = line.name AND task.lane = lane.name AND task.id <> ALL($6::text[])
        ORDER BY run_after, id LIMIT $7) AS head`,
    /** Skips tasks that are gone, or being taken. */
    lock: `SELECT ${recordList()} FROM ${task} WHERE id = ANY($1::text[]) AND ${ready} ORDER BY id FOR UPDATE SKIP LOCKED`,
    /** Whether this transaction is the only one that may take a suspect. */
    lockSuspects: `SELECT pg_try_advisory_xact_lock(hashtextextended('${schema} suspects', 0))::int`,
    tried: `SELECT 1 FROM ${task} WHERE ${isTried} AND waiting = 0 LIMIT 1`,
    countLimited: `SELECT task.method, task.tool, count(*)
      FROM unnest($1::text[], $2::text[]) AS handler (method, tool)
      JOIN ${task} ON task.method = handler.method AND task.tool = handler.tool AND state = 'running' AND limited = 1
      GROUP BY task.method, task.tool`,
  };
}

export type ClaimStatements = ReturnType<typeof claimStatements>;

/** The handlers with a limit on running tasks. Only one claimer at a time may count for these. */
export function limitedOf(handlers: readonly ClaimingHandler[]): readonly ClaimingHandler[] {
  return handlers.filter(({ concurrency }) => concurrency !== undefined);
}

/** Whether a suspect of another claimer runs, or is being taken. */
type SuspectRuns = () => Promise<boolean>;

/** Takes and locks the tasks whose turn it is. */
export async function lockRunnable(
  queries: Queries,
  sql: ClaimStatements,
  query: FairQuery,
  own: string,
  into: GroupFacts,
): Promise<RunnableTasks> {
  const passed = new Set<string>();
  const without = new Set<string>();
  const unreadable: RunnableTasks["unreadable"][number][] = [];
  const suspectRuns: SuspectRuns = async () => {
    const [locked] = await queries.query(sql.lockSuspects);
    return Number(locked?.[0]) !== 1 || anyTried(queries, sql);
  };
  for (;;) {
    const taken = await takeReady(queries, sql, query, own, [...without], suspectRuns);
    const ids = taken.tasks.map(({ id }) => id);
    const found = ids.length === 0 ? [] : await queries.query(sql.lock, [ids]);
    const { tasks, unreadable: damaged } = recordsOf(found, into);
    unreadable.push(...damaged);
    if (tasks.length === ids.length) {
      into.passed = [...passed];
      return { ...taken, tasks: inOrder(tasks, ids), unreadable };
    }
    const [locked, read] = [new Set(found.map(([id]) => id)), new Set(tasks.map(({ id }) => toStored(id)))];
    for (const id of ids) if (!locked.has(id)) passed.add(id);
    for (const id of ids) if (!read.has(id)) without.add(id);
  }
}

/** Whether there is a task that the owner could take. */
export async function hasRunnable(
  queries: Queries,
  sql: ClaimStatements,
  handlers: readonly ClaimingHandler[],
  own: string,
): Promise<boolean> {
  const turns = { rounds: [], limited: [] };
  const query = { handlers, turns, limit: 1 };
  const { tasks, suspectsWait } = await takeReady(queries, sql, query, own, [], () => anyTried(queries, sql));
  return tasks.length > 0 || suspectsWait;
}

async function anyTried(queries: Queries, sql: ClaimStatements): Promise<boolean> {
  return (await queries.query(sql.tried)).length > 0;
}

/** The tasks to take if nobody else takes any, with ids as stored. */
async function takeReady(
  queries: Queries,
  sql: ClaimStatements,
  query: FairQuery,
  own: string,
  passed: readonly string[],
  suspectRuns: SuspectRuns,
): Promise<FairlyTaken<ReadyTask>> {
  const { handlers, turns, limit } = query;
  const counts = countLimited(queries, sql, limitedOf(handlers));
  for (let rows = Math.max(1, Math.min(limit, 8)); ; rows *= 8) {
    const names = handlers.map(({ method, tool }) => ({ method, tool: toStored(tool) }));
    const after = handlers.map((handler) => lastTurn(handler, turns));
    // Each passed task may be the only one of its principal.
    const principals = limit + passed.length;
    const values = [
      names.map(({ method }) => method),
      names.map(({ tool }) => tool),
      after,
      own,
      principals,
      passed,
      rows,
      handlers.map(handlerText),
    ];
    const [heads, count] = await Promise.all([queries.query(sql.heads, values), counts]);
    const lines = new ReadLines(heads, rows);
    const isOccupied = lines.hasSuspects && (await suspectRuns());
    const taken = takeFairly(lines.all(), query, count, () => isOccupied);
    if (!lines.ranOut || rows >= limit) return taken;
  }
}

async function countLimited(
  queries: Queries,
  sql: ClaimStatements,
  limited: readonly HandlerName[],
): Promise<(handler: HandlerName) => number> {
  if (limited.length === 0) return () => 0;
  const values = [limited.map(({ method }) => method), limited.map(({ tool }) => toStored(tool))];
  const rows = await queries.query(sql.countLimited, values);
  return ({ method, tool }) =>
    Number(rows.find((row) => row[0] === method && row[1] === toStored(tool))?.[2] ?? 0);
}

function lastTurn(handler: ClaimingHandler, { rounds, limited }: Turns): string | null {
  const turn =
    handler.concurrency === undefined
      ? rounds.find(({ priority }) => priority === (handler.priority ?? 0))
      : limited.find((each) => hasHandler([handler], each));
  return turn === undefined ? null : toStored(turn.principal);
}

const at = columnsOf(["owner", "method", "tool", "principal", "lane", "id", "run_after"]);

type Lanes = Map<string, ReadyTask[]>;

/** The heads of lines, as read. */
class ReadLines {
  /** Whether more was requested than was read. */
  ranOut = false;
  hasSuspects = false;
  readonly #lines = new Map<
    string,
    { readonly handler: HandlerName; readonly principals: Map<string, Lanes> }
  >();
  readonly #rows: number;

  constructor(heads: readonly Row[], rows: number) {
    this.#rows = rows;
    for (const row of heads) this.#add(row);
  }

  all(): readonly ReadyTasks<ReadyTask>[] {
    return [...this.#lines.values()].map(({ handler, principals }) => {
      const names = [...principals.keys()].sort(compareNames);
      return {
        handler,
        principalAfter: (after) => names.find((name) => after === null || compareNames(name, after) > 0),
        of: (principal, lane) => this.#head(principals.get(principal)?.get(lane) ?? []),
      };
    });
  }

  *#head(tasks: readonly ReadyTask[]): Generator<ReadyTask, void, undefined> {
    yield* tasks;
    if (tasks.length >= this.#rows) this.ranOut = true;
  }

  #add(row: Row): void {
    const [owner, method, , , lane, id] = row.map(String) as [string, string, string, string, string, string];
    const principal = textOrStored(row, at.principal);
    const handler = { method: method as HandlerName["method"], tool: text(row, at.tool) };
    const name = JSON.stringify([owner, method, handler.tool]);
    const line = this.#lines.get(name) ?? { handler, principals: new Map<string, Lanes>() };
    this.#lines.set(name, line);
    const lanes: Lanes = line.principals.get(principal) ?? new Map<string, ReadyTask[]>();
    line.principals.set(principal, lanes);
    const runAfter = integer(row, at.run_after);
    if (lane === "suspect") this.hasSuspects = true;
    const tasks = lanes.get(lane) ?? [];
    lanes.set(lane, tasks);
    tasks.push({ id, runAfter: Math.min(runAfter, latestTime) });
  }
}

function inOrder<T extends { readonly id: string }>(
  tasks: readonly T[],
  ids: readonly string[],
): readonly T[] {
  const places = new Map(ids.map((id, place) => [id, place]));
  return tasks.toSorted((a, b) => (places.get(toStored(a.id)) ?? 0) - (places.get(toStored(b.id)) ?? 0));
}
