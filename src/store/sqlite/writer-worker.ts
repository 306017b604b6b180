import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { HoldfastError } from "../../task/fault.ts";
import { GroupWriter } from "./group-writer.ts";
import { messageOf, primaryCode, sqliteCode } from "./sqlite-error.ts";
import { describeOwners, OwnerWrites, SqliteOwners } from "./sqlite-owners.ts";
import { unusable } from "./unusable.ts";
import { openWriterConnection, shrinkLog, type WriterOptions } from "./writer-connection.ts";
import type { WriterAnswer, WriterRequest } from "./writer-messages.ts";

// The thread that owns the writing connection: an fsync blocks it, and not the server.

interface Connection {
  readonly db: DatabaseSync;
  readonly writer: GroupWriter;
}

/** Once a write has waited in vain, those after it are refused sooner, until one succeeds. */
const blockedTimeoutMs = 250;

const options = workerData as WriterOptions;
let connection: Connection | undefined;
let isBlocked = false;

function connectWriter(): Connection {
  const db = openWriterConnection(options);
  try {
    return { db, writer: new GroupWriter(db, options.path, options.owner.id) };
  } catch (error) {
    db.close();
    throw error;
  }
}

function open(): WriterAnswer {
  try {
    connection = connectWriter();
    new OwnerWrites(connection.db).add(options.owner);
    return { type: "ready" };
  } catch (error) {
    discardConnection();
    const { code, message } = unusable(options.path, error);
    return { type: "unusable", code, message };
  }
}

function write(request: Extract<WriterRequest, { type: "group" }>): WriterAnswer {
  try {
    connection ??= connectWriter();
    const group = connection.writer.commit(request.commands);
    if (isBlocked) setBlocked(connection.db, false);
    return { type: "committed", ...group };
  } catch (error) {
    if (isLocked(error) && connection !== undefined) {
      const problem = describeLock(connection.db);
      setBlocked(connection.db, true);
      return { type: "failed", problem, code: "store_failed" };
    }
    // What the connection still believes about a file that failed it is not to be trusted: the next group opens
    // another one, and says so if that fails too.
    discardConnection();
    return {
      type: "failed",
      problem: messageOf(error),
      code: error instanceof HoldfastError ? error.code : "store_failed",
    };
  }
}

/** Where a transaction waited in vain for its turn, it did not begin, and the connection is as good as before. */
function isLocked(error: unknown): boolean {
  return primaryCode(error) === sqliteCode.busy;
}

function setBlocked(db: DatabaseSync, blocked: boolean): void {
  isBlocked = blocked;
  const { busyTimeoutMs } = options;
  db.exec(`PRAGMA busy_timeout = ${blocked ? Math.min(blockedTimeoutMs, busyTimeoutMs) : busyTimeoutMs}`);
}

function describeLock(db: DatabaseSync): string {
  const others = new SqliteOwners(db).all().filter(({ id, retired }) => id !== options.owner.id && !retired);
  const also = others.length === 0 ? "" : `; it is also open in ${describeOwners(others)}`;
  return `another program holds the lock of ${options.path}, or is stopped while it does${also}`;
}

function tidyUp(): void {
  try {
    if (connection !== undefined && !isBlocked) shrinkLog(connection.db, options);
  } catch {
    discardConnection(); // as after a commit that failed
  }
}

function discardConnection(): void {
  const discarded = connection;
  connection = undefined;
  isBlocked = false;
  try {
    discarded?.db.close();
  } catch {
    // It was given up already.
  }
}

function stop(): void {
  try {
    connection?.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // All of it is safe in the log, which the next owner reads.
  }
  discardConnection();
  parentPort?.close();
}

parentPort?.on("message", (request: WriterRequest) => {
  if (request.type === "stop") {
    stop();
    return;
  }
  parentPort?.postMessage(write(request));
  tidyUp();
});
parentPort?.postMessage(open());
