import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { GroupWriter } from "./group-writer.ts";
import { messageOf } from "./sqlite-error.ts";
import { unusable } from "./unusable.ts";
import { openWriterConnection, shrinkLog, type WriterOptions } from "./writer-connection.ts";
import type { MessageWrite, WriterAnswer, WriterRequest } from "./writer-messages.ts";

// The thread that owns the writing connection: an fsync blocks it, and not the server.

interface Connection {
  readonly db: DatabaseSync;
  readonly writer: GroupWriter;
}

const options = workerData as WriterOptions;
let connection: Connection | undefined;

/** The processes to which messages are bound are gone: there is one at a time. */
const dropBoundMessages: MessageWrite = { type: "messages", command: { type: "drop_bound_messages" } };

function connectWriter(): Connection {
  const db = openWriterConnection(options);
  try {
    return { db, writer: new GroupWriter(db) };
  } catch (error) {
    db.close();
    throw error;
  }
}

function open(): WriterAnswer {
  try {
    connection = connectWriter();
    connection.writer.commit([dropBoundMessages]);
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
    return { type: "committed", ...connection.writer.commit(request.commands) };
  } catch (error) {
    // What the connection still believes about a file that failed it is not to be trusted: the next group opens
    // another one, and says so if that fails too.
    discardConnection();
    return { type: "failed", problem: messageOf(error) };
  }
}

function tidyUp(): void {
  try {
    if (connection !== undefined) shrinkLog(connection.db, options);
  } catch {
    discardConnection(); // as after a commit that failed
  }
}

function discardConnection(): void {
  const discarded = connection;
  connection = undefined;
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
