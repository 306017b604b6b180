import type { CommandResult, TaskCommand } from "../../task/command.ts";
import { HoldfastError } from "../../task/fault.ts";
import { applyCommand } from "../apply-command.ts";
import type { TaskChange } from "../store.ts";
import { LostCommit, type Database } from "./database.ts";
import { GroupReader, NearLimit } from "./group-reader.ts";
import { KnownTasks, LockedTasks } from "./known-tasks.ts";
import { GroupTables } from "./group-tables.ts";
import type { Names } from "./names.ts";
import { Commits, type Owners } from "./ownership.ts";
import {
  isBroken,
  isFaultOfData,
  isFull,
  isKeyTaken,
  isWorthRepeating,
  isWrongServer,
  storeFailed,
  storeRefused,
  lockTimeout,
  sqlState,
} from "./postgres-error.ts";
import { factStatements, slots, usageStatements, writeStatements, type WriteStatements } from "./task-sql.ts";
import { WriteBatch } from "./group-writes.ts";
import { endsWork } from "../command-traits.ts";

/** The answer to a command: what it resolves with, or rejects with. */
export type Answer = { readonly result: CommandResult } | { readonly error: HoldfastError };

export interface CommittedGroup {
  readonly answers: readonly Answer[];
  readonly changes: readonly TaskChange[];
}

/** How often a group is tried that conflicts with others, which make progress each time. */
const mostTries = 10;

export interface GroupWriterSetup {
  readonly database: Database;
  readonly names: Names;
  readonly owners: Owners;
  /** How long a conflicting group is retried (ms). */
  readonly timeoutMs: number;
  /** Called with tasks that could not be claimed because others had them locked. */
  readonly onPassed: (ids: readonly string[]) => void;
  /** Called after a commit with the counts of principals that have fewer tasks than before. */
  readonly onFewer?: (keys: readonly string[]) => void;
  /** Called after a commit with the number of tasks that it left for any owner to claim. */
  readonly onClaimable?: (tasks: number) => void;
}

/** Writes groups of commands, each in one transaction. */
export class GroupWriter {
  readonly #setup: GroupWriterSetup;
  readonly #reader: GroupReader;
  readonly #sql: WriteStatements;
  readonly #usage: ReturnType<typeof usageStatements>;
  readonly #commits: Commits;
  readonly #locked: LockedTasks;
  readonly #slot: number;
  readonly #known: KnownTasks;
  /** Their marks are numbers that no transaction has. */
  #loneWrites = 0;

  constructor(setup: GroupWriterSetup) {
    this.#setup = setup;
    this.#reader = new GroupReader(setup.names, setup.owners, setup.database.codecs);
    this.#sql = writeStatements(setup.names);
    this.#usage = usageStatements(setup.names);
    this.#locked = new LockedTasks(setup.database, factStatements(setup.names));
    this.#commits = new Commits(setup.names, setup.owners.id);
    this.#known = new KnownTasks(setup.names, setup.owners.id);
    let hash = 0;
    for (const char of setup.owners.id) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 65_521;
    this.#slot = hash % slots;
  }

  /**
   * Resolves after the commit. Rejects if nothing of the group was written; with `TasksLocked` if it can be written without some commands,
   * or with `InDoubt` if it is unknown whether it was written.
   */
  async commit(commands: readonly TaskCommand[]): Promise<CommittedGroup> {
    let looksForTaken = false;
    const until = performance.now() + this.#setup.timeoutMs;
    await this.#locked.assertFree(commands);
    for (let tries = 1; ; tries++) {
      try {
        const asKnown = tries === 1 ? await this.#attemptAsKnown(commands) : undefined;
        return asKnown ?? (await this.#attempt(commands, looksForTaken));
      } catch (error) {
        if (error instanceof InDoubt) throw error;
        if (sqlState(error) === lockTimeout) await this.#locked.find(commands);
        looksForTaken ||= isKeyTaken(error);
        const again =
          error instanceof NearLimit ||
          isWorthRepeating(error) ||
          isBroken(error) ||
          (isWrongServer(error) && tries === 1);
        if (isFaultOfData(error) && (!isKeyTaken(error) || tries === mostTries))
          return this.#separately(commands, error);
        if (isFull(error) && commands.some(endsWork) && !commands.every(endsWork))
          return this.#separately(commands, error);
        if (!again || tries === mostTries || performance.now() > until) throw storeFailed(error);
      }
    }
  }

  /** The database rejects the data of one command, or has no room for some: the others are written without them. */
  async #separately(commands: readonly TaskCommand[], error: unknown): Promise<CommittedGroup> {
    const [command] = commands;
    if (command !== undefined && commands.length === 1)
      return { answers: [{ error: storeRefused(error, whatIsWritten(command)) }], changes: [] };
    const half = Math.ceil(commands.length / 2);
    const first = await this.#part(commands.slice(0, half), nothing, commands.length - half);
    return this.#part(commands.slice(half), first, 0);
  }

  /** A part of a group, after its committed parts, and with so many commands left. */
  async #part(
    commands: readonly TaskCommand[],
    before: CommittedGroup,
    left: number,
  ): Promise<CommittedGroup> {
    try {
      return joined(before, await this.commit(commands));
    } catch (error) {
      if (error instanceof InDoubt) {
        const whole = (part: CommittedGroup): CommittedGroup =>
          joined(joined(before, part), refused(left, error));
        throw new InDoubt(whole(error.group), whole(error.otherwise), error, error.wasCommitted);
      }
      return joined(before, refused(commands.length, storeFailed(error)));
    }
  }

  async #attempt(commands: readonly TaskCommand[], looksForTaken: boolean): Promise<CommittedGroup> {
    const { database } = this.#setup;
    const transaction = await database.begin();
    try {
      const { last } = this.#commits;
      const { facts, xid, hasLast } = await this.#reader.read(transaction, commands, looksForTaken, last);
      if (!hasLast) this.#known.forget();
      if (facts.passed !== undefined && facts.passed.length > 0) this.#setup.onPassed(facts.passed);
      const before = new Map(facts.tasks);
      const tables = new GroupTables(facts);
      const group = this.#decide(tables, commands);
      if (tables.writes.isEmpty && !group.answers.some(namesExisting)) {
        await transaction.rollback();
        return group;
      }
      const batch = this.#batchOf(tables);
      const isCommitted = this.#commits.mark(batch, xid);
      // A failure is reported when the transaction commits.
      for (const { sql, values } of batch.statements)
        void transaction.query(sql, values).catch(() => undefined);
      await this.#unlessInDoubt(transaction.commit(), xid, group);
      isCommitted();
      this.#known.learn(before, facts);
      this.#committed(tables);
      return group;
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
  }

  /** In one statement, without reading anything. Undefined if nothing was written: too little is known, or others have changed a task. */
  async #attemptAsKnown(commands: readonly TaskCommand[]): Promise<CommittedGroup | undefined> {
    const { database } = this.#setup;
    const known = this.#known.take(commands, database.codecs.writing, this.#commits.last);
    if (known === undefined) return undefined;
    const tables = new GroupTables(known.facts);
    const group = this.#decide(tables, commands);
    if (tables.writes.isEmpty) return undefined;
    const batch = this.#batchOf(tables);
    const name = String(-++this.#loneWrites);
    const isCommitted = this.#commits.mark(batch, name);
    const write = batch.guardedBy(known.guard);
    if (write === undefined) return undefined;
    try {
      await this.#unlessInDoubt(database.commit(write.sql, write.values), name, group);
    } catch (error) {
      if (error instanceof InDoubt) throw error;
      return undefined; // what is wrong shows where it is read first
    }
    isCommitted();
    this.#known.relearn(known.facts);
    this.#committed(tables);
    return group;
  }

  #decide(tables: GroupTables, commands: readonly TaskCommand[]): CommittedGroup {
    const changes: TaskChange[] = [];
    const answers = commands.map((command): Answer => {
      try {
        const applied = applyCommand(tables, this.#setup.owners.id, command);
        for (const change of applied.changes) changes.push(change);
        return { result: applied.result };
      } catch (error) {
        // Damage affects its task alone; its write had not begun.
        if (error instanceof HoldfastError) return { error };
        throw error;
      }
    });
    return { answers, changes };
  }

  #committed({ writes, deltas }: GroupTables): void {
    this.#setup.onFewer?.(deltas.fewer);
    const { claimable } = writes;
    if (claimable > 0) this.#setup.onClaimable?.(claimable);
  }

  #batchOf({ writes, deltas }: GroupTables): WriteBatch {
    const batch = new WriteBatch();
    writes.send(batch, this.#sql, this.#setup.owners.sql);
    const counts = deltas.entries();
    if (counts.length > 0) {
      const values = [
        this.#slot,
        counts.map(([key]) => key),
        counts.map(([, { unfinished }]) => unfinished),
        counts.map(([, { retained }]) => retained),
      ];
      batch.together(this.#usage.add, ...values);
    }
    return batch;
  }

  async #unlessInDoubt(commit: Promise<void>, xid: string, group: CommittedGroup): Promise<void> {
    try {
      await commit;
    } catch (error) {
      if (!(error instanceof LostCommit)) throw error;
      this.#known.forget();
      const { database } = this.#setup;
      const otherwise = refused(group.answers.length, error);
      throw new InDoubt(group, otherwise, error, () => this.#commits.settle(database, xid));
    }
  }
}

/** A group that may or may not have been committed, until the database is asked. */
export class InDoubt extends HoldfastError {
  /** The answers if it was committed, and if it was not. */
  readonly group: CommittedGroup;
  readonly otherwise: CommittedGroup;
  /** Whether it was committed, after which that is settled. Rejects while it is unknown. */
  readonly wasCommitted: () => Promise<boolean>;

  constructor(
    group: CommittedGroup,
    otherwise: CommittedGroup,
    cause: HoldfastError,
    wasCommitted: () => Promise<boolean>,
  ) {
    super("store_failed", cause.message, { cause });
    this.group = group;
    this.otherwise = otherwise;
    this.wasCommitted = wasCommitted;
  }
}

/**
 * A task that others made is acknowledged: that they were not told so may mean that their commit still waits for a standby. The commit of
 * this group comes after theirs.
 */
function namesExisting(answer: Answer): boolean {
  return "result" in answer && answer.result.ok && "created" in answer.result && !answer.result.created;
}

function whatIsWritten(command: TaskCommand): string {
  const id = "id" in command ? command.id : command.type === "create" ? command.task.id : undefined;
  return id === undefined ? `the command ${command.type}` : `the command ${command.type} of task ${id}`;
}

const nothing: CommittedGroup = { answers: [], changes: [] };

function refused(commands: number, error: HoldfastError): CommittedGroup {
  return { answers: Array.from({ length: commands }, () => ({ error })), changes: [] };
}

function joined(one: CommittedGroup, other: CommittedGroup): CommittedGroup {
  return { answers: [...one.answers, ...other.answers], changes: [...one.changes, ...other.changes] };
}
