import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { HoldfastError } from "../../task/fault.ts";
import { inClear } from "../row.ts";
import { codecOf } from "../cipher.ts";
import { beginWrite, Statements, unusable } from "./statements.ts";
import { ChangeLog } from "./change-log.ts";
import { type CommittedGroup, GroupWriter } from "./group-writer.ts";
import { isLost } from "../lost-store.ts";
import { endsWork, makesRoom } from "../command-traits.ts";
import { describeOwners, isLocked, OwnerWrites, removeLockFilesBut, SqliteOwners } from "./sqlite-owners.ts";
import { fileIsGone } from "./open-file.ts";
import { SentRecords } from "./known-records.ts";
import { isBusy, isFull, isUnwritten, messageOf } from "./sqlite-error.ts";
import {
  assertFreePages,
  type CommandAnswer,
  limitSize,
  openWriterConnection,
  shrinkLog,
  type WriterAnswer,
  type WriterCommand,
  type WriterOptions,
  type WriterRequest,
} from "./writer-connection.ts";

// The thread that owns the write connection: an fsync blocks this thread, not the server.

interface Connection {
  readonly db: DatabaseSync;
  readonly statements: Statements;
  readonly writer: GroupWriter;
  /** What the database may grow to. */
  limit: number | null;
}

type Failure = Pick<Extract<WriterAnswer, { type: "failed" }>, "problem" | "code">;

/**
 * So much of `maxBytes` has to be free for a report, by which others judge whether tasks can be made (pages): written in the place of an earlier one, it
 * needs nothing.
 */
const leastFreePages = 8;

/** Once a write has waited in vain, later ones are refused sooner, until one succeeds. */
const blockedTimeoutMs = 250;

const options = workerData as WriterOptions;
const sent = new SentRecords();
let connection: Connection | undefined;
let codec = inClear;
let isBlocked = false;
/** False while a full disk keeps the owner out of the table: then it can only read, and others need not know it. */
let isOwner = false;

function connectWriter(): Connection {
  const { path, owner } = options;
  const db = openWriterConnection(options);
  const statements = new Statements(db);
  statements.codec = codec;
  const lives = (id: string): boolean => isLocked(path, id);
  const log = new ChangeLog(statements, owner.id);
  const writer = new GroupWriter(statements, path, owner.id, lives, log);
  return { db, statements, writer, limit: options.maxBytes };
}

function open(): WriterAnswer {
  try {
    connection = connectWriter();
    joinOwners(connection);
    return { type: "ready" };
  } catch (error) {
    if (connection !== undefined && isUnwritten(error)) {
      discardConnection();
      return { type: "ready" };
    }
    const fault = isBusy(error)
      ? new HoldfastError(
          "store_locked",
          `${describeLock()}. Wait until it is done, or stop it, and try again.`,
        )
      : unusable(options.path, error);
    discardConnection();
    return { type: "unusable", code: fault.code, message: fault.message };
  }
}

function joinOwners({ db, statements }: Connection): void {
  beginWrite(db, options.busyTimeoutMs);
  limitSize(db, null); // who may not even join cannot delete either
  new OwnerWrites(statements).add(options.owner);
  db.exec("COMMIT");
  limitSize(db, options.maxBytes);
  isOwner = true;
  removeLockFilesBut(options.path, new SqliteOwners(statements).ids());
}

function write({ commands }: Extract<WriterRequest, { type: "group" }>): WriterAnswer<CommandAnswer> {
  try {
    return { type: "committed", ...commit(commands, options.maxBytes) };
  } catch (error) {
    const failed = failure(error);
    return isFull(error) && options.maxBytes !== null
      ? writeWhenFull(commands, failed, options.maxBytes)
      : { type: "failed", ...failed };
  }
}

function commit(commands: readonly WriterCommand[], maxBytes: number | null): CommittedGroup {
  connection ??= reconnect();
  if (!isOwner) joinOwners(connection);
  const { busyTimeoutMs } = options;
  const patienceMs = isBlocked ? Math.min(blockedTimeoutMs, busyTimeoutMs) : busyTimeoutMs;
  if (maxBytes !== connection.limit) limitSize(connection.db, maxBytes);
  connection.limit = maxBytes;
  if (commands.some(({ type }) => type === "report")) assertFreePages(connection.db, leastFreePages);
  const group = connection.writer.commit(commands, patienceMs);
  isBlocked = false;
  return commands.some(isMark) ? { ...group, answers: marked(commands, group.answers, connection) } : group;
}

/** Ends of work may take an eighth more than the limit, and nothing keeps from deleting. */
function writeWhenFull(
  commands: readonly WriterCommand[],
  problem: Failure,
  maxBytes: number,
): WriterAnswer<CommandAnswer> {
  const ways = [
    [endsWork, maxBytes + maxBytes / 8],
    [makesRoom, null],
  ] as const;
  for (const [passes, limit] of ways) {
    const few = commands.filter(passes);
    if (few.length === 0) continue;
    try {
      const { answers, changes } = commit(few, limit);
      const each = answers.values();
      const answerTo = (command: WriterCommand): CommandAnswer =>
        passes(command) ? (each.next().value ?? problem) : problem;
      return { type: "committed", answers: commands.map(answerTo), changes };
    } catch (error) {
      const failed = failure(error);
      if (!isFull(error)) return { type: "failed", ...failed };
    }
  }
  return { type: "failed", ...problem };
}

/** Never creates the file again. */
function reconnect(): Connection {
  if (statSync(options.path, { throwIfNoEntry: false }) === undefined) throw fileIsGone(options.path);
  return connectWriter();
}

function isMark({ type }: WriterCommand): boolean {
  return type === "mark_file";
}

/** Copies the log into the file: a mark that others kept from being copied is not in the file. */
function marked(
  commands: readonly WriterCommand[],
  answers: readonly CommandAnswer[],
  { db }: Connection,
): readonly CommandAnswer[] {
  const [, pages, copied] = Object.values(db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get() ?? {});
  if (pages === copied) return answers;
  const problem = "other programs read the database, which kept its log from being copied into it";
  return answers.map((answer, index) =>
    commands[index]?.type === "mark_file" ? { problem, code: "store_failed" } : answer,
  );
}

/** A transaction that waited in vain for its turn did not begin, so the connection is still good. The same holds if the store is lost. */
function failure(error: unknown): Failure {
  if (isBusy(error)) {
    isBlocked = true;
    return { problem: describeLock(), code: "store_failed" };
  }
  if (isLost(error)) return { problem: messageOf(error), code: "store_lost" };
  // After a failure, the connection's view of the file cannot be trusted: the next group opens another connection,
  // and reports if that fails too.
  discardConnection();
  return { problem: isFull(error) ? describeFull(error) : messageOf(error), code: "store_failed" };
}

function describeFull(error: unknown): string {
  const { path, maxBytes } = options;
  return maxBytes === null
    ? messageOf(error)
    : `${path} has reached its maxBytes (${maxBytes} bytes), or its disk is full. Delete tasks, or give it more room`;
}

function describeLock(): string {
  return `${options.path} is locked by another program, which may be suspended${describeOthers()}`;
}

function describeOthers(): string {
  const { path, owner } = options;
  try {
    const owners = connection === undefined ? [] : new SqliteOwners(connection.statements).all();
    const others = owners.filter(({ id, retired }) => id !== owner.id && !retired && isLocked(path, id));
    return others.length === 0 ? "" : `; it is also open in ${describeOwners(others)}`;
  } catch {
    return ""; // naming them is optional
  }
}

function tidyUp(): void {
  try {
    if (connection !== undefined && !isBlocked) shrinkLog(connection.db, options.path);
  } catch {
    discardConnection(); // as after a failed commit
  }
}

function discardConnection(): void {
  const discarded = connection;
  connection = undefined;
  isBlocked = false;
  try {
    discarded?.db.close();
  } catch {
    // It was abandoned already.
  }
}

function stop(): void {
  try {
    connection?.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // Everything is safe in the log, which the next owner reads.
  }
  discardConnection();
  parentPort?.off("message", take); // the thread ends: nothing else keeps it alive (`close` is missing in Deno)
}

function take(request: WriterRequest): void {
  if (request.type === "stop") {
    stop();
    return;
  }
  if (request.type === "encrypt") {
    codec = codecOf(request.sealing);
    if (connection !== undefined) connection.statements.codec = codec;
    return;
  }
  const answer = write(request);
  parentPort?.postMessage(
    answer.type === "committed"
      ? { ...answer, answers: answer.answers.map((each) => sent.pack(each)) }
      : answer,
  );
  tidyUp();
}

parentPort?.on("message", take);
parentPort?.postMessage(open());
