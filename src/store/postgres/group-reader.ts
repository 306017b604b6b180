import type { TaskCommand } from "../../task/command.ts";
import type { NewTask, TaskRecord } from "../../task/record.ts";
import { HoldfastError } from "../../task/fault.ts";
import { compareNames } from "../../task/queue.ts";
import { StoreLost } from "../lost-store.ts";
import type { Codecs } from "../cipher.ts";
import { deliveriesIn } from "../tables/tables.ts";
import type { FactsQuery, OtherFacts } from "../facts.ts";
import type { StoredDelivery } from "../../task/delivery.ts";
import { dueDeliveries } from "../outbox-reads.ts";
import type { DeliveryQuery } from "../outbox.ts";
import { columnsOf, idOf, integer, type Row, text, toStored } from "../row.ts";
import { claimStatements, type ClaimStatements, limitedOf, lockRunnable } from "./claims.ts";
import type { Queries } from "./database.ts";
import {
  deletableOf,
  readEndedBelow,
  noFacts,
  queryOf,
  readTasks,
  recordsOf,
  type GroupFacts,
  type GroupQuery,
} from "./group-facts.ts";
import type { Names } from "./names.ts";
import { bulkJobIn } from "../admin-reads.ts";
import { bulkStatements, outboxStatements } from "./postgres-admin.ts";
import type { Owners } from "./ownership.ts";
import {
  countedUnder,
  countLock,
  factStatements,
  type FactStatements,
  hasMargin,
  limitsOf,
  principalKey,
  totalKey,
  usageStatements,
} from "./task-sql.ts";

/** How many counts are remembered as near their limits. */
const mostNear = 10_000;

/** Tasks that count together have little room left, so only one transaction at a time may count them. */
export class NearLimit extends HoldfastError {
  readonly keys: readonly string[];

  constructor(keys: readonly string[]) {
    super("store_failed", "There is little room for more tasks.");
    this.keys = keys;
  }
}

export interface ReadGroup {
  readonly facts: GroupFacts;
  /** The id of the transaction. */
  readonly xid: string;
  /** Whether the last group of the owner is there; otherwise a failover has undone it. */
  readonly hasLast: boolean;
}

/** Reads what a group of commands needs to know, and locks what it depends on. */
export class GroupReader {
  readonly #names: Names;
  readonly #codecs: Pick<Codecs, "writing">;
  readonly #owners: Owners;
  readonly #facts: FactStatements;
  readonly #claims: ClaimStatements;
  readonly #outbox: ReturnType<typeof outboxStatements>;
  readonly #bulk: ReturnType<typeof bulkStatements>;
  readonly #usage: ReturnType<typeof usageStatements>;
  /** Counts that were near their limits at the last read. */
  readonly #near = new Set<string>();

  constructor(names: Names, owners: Owners, codecs: Pick<Codecs, "writing">) {
    this.#codecs = codecs;
    this.#names = names;
    this.#owners = owners;
    this.#facts = factStatements(names);
    this.#claims = claimStatements(names);
    this.#outbox = outboxStatements(names);
    this.#bulk = bulkStatements(names);
    this.#usage = usageStatements(names);
  }

  /**
   * `last` is the mark of the owner's last group. Rejects with `NearLimit` if the group has to be retried, and with `store_lost` if others
   * considered this owner dead.
   */
  async read(
    queries: Queries,
    commands: readonly TaskCommand[],
    looksForTaken: boolean,
    last: string | null = null,
  ): Promise<ReadGroup> {
    const query = queryOf(commands, looksForTaken);
    const facts = noFacts(this.#codecs.writing);
    const counted = countedBy(query);
    const made = countsOf(query);
    const alone = [
      ...made.filter((key) => this.#near.has(key)).map((key) => countLock(this.#names.schema, key)),
      ...commands.flatMap((command) => this.#locksOf(command)),
    ];
    const shared = made
      .filter((key) => !this.#near.has(key))
      .map((key) => countLock(this.#names.schema, key));
    const locks: Promise<unknown>[] = [];
    if (alone.length > 0)
      locks.push(queries.query(this.#owners.sql.lockAlone, [alone.toSorted(compareNames)]));
    const fence = this.#owners.fence(queries, { last, counts: shared, asksForOwners: asksForOwners(query) });
    for (const command of commands)
      if (command.type === "reclaim") locks.push(queries.query(this.#owners.sql.lockOwner, [command.owner]));
    const [fenced] = await Promise.all([
      fence,
      readTasks(queries, this.#facts, query, madeBy(commands), facts),
      this.#readLives(queries, query, facts),
      this.#readUsage(queries, counted, facts),
      ...query.others.map(async (other) => {
        facts.others = { ...facts.others, ...(await this.#readOther(queries, other, facts)) };
      }),
      ...locks,
    ]);
    if (fenced === undefined) throw new StoreLost(`schema ${this.#names.schema}`, true);
    const { xid, hasLast, owners } = fenced;
    facts.owners = [...facts.owners, ...owners];
    for (const { running } of query.others) {
      const lives = facts.owners.some((owner) => owner.id === running?.owner && owner.lives);
      if (lives) facts.others = { running: { alive: true, tasks: [], unreadable: [], next: null } };
    }
    this.#checkMargins(query, facts);
    return { facts, xid, hasLast };
  }

  #locksOf(command: TaskCommand): readonly string[] {
    if (command.type !== "claim") return [];
    return limitedOf(command.handlers).map(
      ({ method, tool }) => `${this.#names.schema} limit ${method} ${toStored(tool)}`,
    );
  }

  /** After the lock of the owner that is to be declared dead: it may have come back. */
  async #readLives(queries: Queries, { others }: GroupQuery, facts: GroupFacts): Promise<void> {
    if (others.some(({ running }) => running !== undefined)) facts.owners = await this.#owners.all(queries);
  }

  async #readUsage(queries: Queries, keys: readonly string[], facts: GroupFacts): Promise<void> {
    if (keys.length === 0) return;
    const rows = await queries.query(this.#usage.read, [keys]);
    facts.usage = new Map(rows.map(usageOf));
  }

  async #readOther(queries: Queries, query: FactsQuery, facts: GroupFacts): Promise<OtherFacts> {
    const { runnable, toWake, running, deletable, secret, deliveries, excess, bulkJob } = query;
    if (runnable)
      return { runnable: await lockRunnable(queries, this.#claims, runnable, this.#owners.id, facts) };
    if (toWake) {
      const rows = await queries.query(this.#facts.lockToWake, [toWake.now, toWake.limit]);
      const { tasks, unreadable } = recordsOf(rows, facts);
      return { toWake: { tasks: tasks.toSorted(byRunAfter), unreadable } };
    }
    if (running) {
      const { owner, after, limit, now } = running;
      const rows = await queries.query(this.#facts.lockRunning, [owner, toStored(after), now, limit]);
      const last = rows.at(-1);
      const next = last === undefined || rows.length < limit ? null : idOf(last);
      return { running: { alive: false, ...recordsOf(rows, facts), next } };
    }
    if (deletable) {
      const rows = await queries.query(this.#facts.lockDeletable, [deletable.now, deletable.limit]);
      facts.deletable = rows.map(deletableOf);
      const ids = facts.deletable.map(({ id }) => id);
      if (ids.length > 0) await readEndedBelow(queries, this.#facts, ids.map(toStored), facts);
      return { deletable: ids, below: ids.flatMap((id) => [...(facts.below.get(id) ?? [])]) };
    }
    if (secret !== undefined) {
      const [row] = await queries.query(this.#facts.secret, [toStored(secret)]);
      return { secret: row && text(row, { place: 0, name: "value" }) };
    }
    if (bulkJob !== undefined) {
      const [row] = await queries.query(this.#bulk.lockJob, [toStored(bulkJob)]);
      return { bulkJob: row && bulkJobIn(row, facts.codec) };
    }
    if (deliveries) return { deliveries: await this.#readDeliveries(queries, deliveries) };
    if (!excess) return {};
    const rows = await queries.query(this.#outbox.excess, [excess.before, excess.most, excess.limit]);
    return { excess: rows.map((row) => Number(row[0])) };
  }

  async #readDeliveries(queries: Queries, query: DeliveryQuery): Promise<readonly StoredDelivery[]> {
    const { sql, values } = dueDeliveries(this.#outbox, query);
    return deliveriesIn(await queries.query(sql, values));
  }

  /** A count that could exceed its limit unnoticed must be locked exclusively. */
  #checkMargins({ creates }: GroupQuery, facts: GroupFacts): void {
    const wanted = creates.flatMap(({ quota, task: { principal } }) =>
      quota === undefined ? [] : { quota, principal },
    );
    const missing: string[] = [];
    for (const [key, limit] of limitsOf(wanted)) {
      const usage = facts.usage.get(key) ?? { unfinished: 0, retained: 0 };
      const living = facts.owners.filter(({ retired }) => !retired).length;
      const isFar = hasMargin(usage, limit, living);
      if (!isFar && !this.#near.has(key)) missing.push(key);
      if (isFar) this.#near.delete(key);
    }
    // Forgotten counts that are near their limits are detected again.
    if (this.#near.size > mostNear) this.#near.clear();
    for (const key of missing) this.#near.add(key);
    if (missing.length > 0) throw new NearLimit(missing);
  }
}

function asksForOwners({ tasks, creates }: GroupQuery): boolean {
  return creates.length > 0 || tasks.some(({ served, callers, holder }) => served || callers || holder);
}

const usageAt = columnsOf(["key", "unfinished", "retained"]);

function usageOf(row: Row): [string, { unfinished: number; retained: number }] {
  const counts = { unfinished: integer(row, usageAt.unfinished), retained: integer(row, usageAt.retained) };
  return [String(row[0]), counts];
}

/** The counts of created tasks, with and without limits: they must not be deleted meanwhile. */
function countsOf({ creates }: GroupQuery): readonly string[] {
  return [...new Set(creates.flatMap(({ task }) => countedUnder({ ...task, parent: null })))].sort(
    compareNames,
  );
}

/** By time; the rows were locked in the order of their ids. */
function byRunAfter(a: TaskRecord, b: TaskRecord): number {
  return (a.runAfter ?? 0) - (b.runAfter ?? 0) || compareNames(a.id, b.id);
}

/** The counts of created tasks with limits. */
function countedBy({ creates }: GroupQuery): readonly string[] {
  const keys = new Set<string>();
  for (const { quota, task } of creates) {
    if (quota === undefined) continue;
    keys.add(totalKey);
    if (task.principal !== null) keys.add(principalKey(task.principal));
  }
  return [...keys].sort(compareNames);
}

/** The tasks that commands create. */
function madeBy(commands: readonly TaskCommand[]): readonly NewTask[] {
  return commands.flatMap((command) => {
    if (command.type === "create") return command.task;
    return command.type === "call_tool" ? command.child : [];
  });
}
