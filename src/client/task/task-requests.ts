import { type ContentBlock, isSpecType, type ReadResourceResult } from "@modelcontextprotocol/client";
import { isJsonObject, logLevelOf } from "../../generation/message.ts";
import { artifactUri } from "../../task/artifact.ts";
import {
  isUnknown,
  readReply,
  type Reply,
  replyError,
  type Unanswered,
  unknownTask,
} from "../reply/reply.ts";
import { sendWithRetries, pollFailed, type Trouble } from "../reply/retry.ts";
import { TaskClientError } from "../task-client-error.ts";
import { type ClientClock, noLongerNeeded } from "../clock.ts";
import { taskResourceUri } from "../../generation/extensions.ts";
import type { LineList, LogLevel } from "../../task/task-line.ts";
import type { ClientEvents } from "../client-events.ts";
import type { LineListener, TaskProtocol } from "../task-protocol.ts";
import { hasEnded, type RemoteTask } from "./remote-task.ts";
import type { BackgroundWork } from "../background-work.ts";
import type { TaskWatch } from "./task-watch.ts";

/** A file that a task has made. */
export interface TaskArtifact {
  readonly name: string;
  /** For `saveArtifact`. */
  readonly uri: string;
  readonly mimeType: string;
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
  /** When it was complete, in ISO 8601. */
  readonly at: string;
}

/** What requests about tasks need of their client. */
export interface RequestServices {
  readonly protocol: Pick<TaskProtocol, "cancel" | "delete" | "followLines">;
  readonly clock: ClientClock;
  readonly events: Pick<ClientEvents, "emit">;
  /** Closing the client waits for it. */
  readonly background: Pick<BackgroundWork, "run">;
  /** Reads a resource by a request, which is sent once. */
  readonly readPlainly: (uri: string, signal: AbortSignal) => Promise<Reply<ReadResourceResult>>;
}

/** Repeats the request until the server acknowledges it. */
export async function cancelTask(
  { protocol, clock, events }: Pick<RequestServices, "protocol" | "clock" | "events">,
  taskId: string,
  signal: AbortSignal,
): Promise<void> {
  events.emit({ type: "cancel_requested", taskId });
  const reply = await sendWithRetries(() => protocol.cancel(taskId, signal), clock, signal);
  if (isUnknown(reply)) throw unknownTask(reply, taskId);
  if (reply.kind !== "value") throw replyError(reply, taskId);
  events.emit({ type: "cancel_acknowledged", taskId });
}

export async function deleteTask(
  { protocol }: Pick<RequestServices, "protocol">,
  taskId: string,
  signal: AbortSignal,
): Promise<void> {
  const reply = (await protocol.delete?.(taskId, signal)) ?? cannotDelete;
  if (reply.kind !== "value") throw replyError(reply, taskId);
}

/** The artifacts of a task that are complete, however long the server does not answer. */
export async function listArtifacts(
  services: RequestServices,
  taskId: string,
  onTrouble: (trouble: Trouble | null) => void,
  signal: AbortSignal,
): Promise<readonly TaskArtifact[]> {
  const read = async (): Promise<Reply<string>> => readText(services, artifactUri(taskId), signal);
  const reply = await sendWithRetries(read, services.clock, signal, { onPause: onTrouble });
  if (reply.kind !== "value") throw replyError(reply, taskId);
  return reply.value
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => artifactIn(line));
}

function artifactIn(line: string): TaskArtifact {
  try {
    const read: unknown = JSON.parse(line);
    if (isArtifact(read)) return read;
  } catch {
    // It is no artifact.
  }
  throw new TaskClientError("protocol", `The server sent an invalid artifact: ${line.slice(0, 200)}`);
}

function isArtifact(read: unknown): read is TaskArtifact {
  if (!isJsonObject(read) || !Number.isSafeInteger(read["bytes"])) return false;
  return ["name", "uri", "mimeType", "sha256", "at"].every((member) => typeof read[member] === "string");
}

interface Line {
  /** Its number, from 1. The numbers of lines that the server dropped are missing. */
  readonly seq: number;
  /** When it was appended, in ISO 8601. */
  readonly at: string;
}

/** A line of the log of a task. */
export interface LogLine extends Line {
  readonly level: LogLevel;
  readonly text: string;
  readonly data?: unknown;
  /** The key of the step that appended it; left out for the handler itself. */
  readonly step?: string;
}

/** A part of the output of a task. */
export interface OutputPart extends Line {
  readonly content: ContentBlock;
}

interface LinesRead {
  /** The task, its state, and the error for an answer that is none. */
  readonly watch: Pick<TaskWatch, "taskId" | "ask" | "errorOf">;
  /** Whether to continue until the task has ended. */
  readonly follow: boolean;
  readonly onTrouble: (trouble: Trouble | null) => void;
}

/** The pause before reading on if the task has no poll interval (ms). */
const pauseMs = 1_000;

/** The lines of a task's list from the first that the server keeps; with `follow` also each new line, until the task has ended. */
export async function* readLines<Read extends LogLine | OutputPart>(
  list: LineList,
  services: RequestServices,
  { watch, follow, onTrouble }: LinesRead,
  signal: AbortSignal,
): AsyncGenerator<Read, void, undefined> {
  const { clock, events, background, protocol } = services;
  const { taskId } = watch;
  const uri = taskResourceUri(taskId, list);
  const updates = new LineUpdates(clock);
  const finished = new AbortController();
  const pushes = follow && protocol.followLines?.(uri, updates, AbortSignal.any([signal, finished.signal]));
  if (pushes) background.run(pushes.catch(() => undefined)); // if that fails, the list is polled
  /** Resolves with an answer, however long the server gives none. Rejects if a repeat would not help. */
  const ask = async <T>(
    send: () => Promise<Reply<T>>,
    errorOf: (reply: Unanswered) => unknown,
  ): Promise<T> => {
    let isTroubled = false;
    const onPause = (trouble: Trouble, failed: Unanswered): void => {
      isTroubled = true;
      events.emit(pollFailed(taskId, trouble, failed));
      onTrouble(trouble);
    };
    const reply = await sendWithRetries(send, clock, signal, { onPause });
    if (reply.kind !== "value") throw errorOf(reply);
    if (isTroubled) {
      events.emit({ type: "poll_recovered", taskId });
      onTrouble(null);
    }
    return reply.value;
  };
  const state = async (): Promise<RemoteTask> =>
    ask(
      () => watch.ask(signal),
      (reply) => watch.errorOf(reply),
    );
  try {
    // A task that has ended has no lines after those that are read then.
    let task = await state();
    for (let after = 0; ;) {
      const text = await ask(
        () => readText(services, `${uri}?after=${after}`, signal),
        (reply) => replyError(reply, taskId),
      );
      const lines = linesIn<Read>(text, list, after);
      for (const line of lines) {
        yield line;
        after = line.seq;
      }
      if (lines.length > 0) continue;
      if (!follow || hasEnded(task)) return;
      await updates.next(task.pollIntervalMs ?? pauseMs, signal);
      task = await state();
    }
  } finally {
    finished.abort(noLongerNeeded);
  }
}

/** The lines of a list. Their numbers must grow from `after`; otherwise reading would never end. */
function linesIn<Read extends Line>(text: string, list: LineList, after: number): readonly Read[] {
  let last = after;
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const read = parsed(line);
    if (!isLine<Read>(read, list) || read.seq <= last)
      throw new TaskClientError("protocol", `The server sent an invalid line: ${line.slice(0, 200)}`);
    last = read.seq;
    return read;
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isLine<Read extends Line>(value: unknown, list: LineList): value is Read {
  if (!isJsonObject(value) || !Number.isSafeInteger(value["seq"]) || typeof value["at"] !== "string")
    return false;
  if (list === "output") return isSpecType.ContentBlock(value["content"]);
  return typeof value["text"] === "string" && logLevelOf(value["level"]) !== undefined;
}

/** How long to wait for a push before reading anyway, since one may be missed (ms). */
const quietMs = 30_000;

/** When to read on in a log or an output: when the server pushes that it has grown, or after a while. */
export class LineUpdates implements LineListener {
  readonly #clock: ClientClock;
  #isLive = false;
  /** Aborts when there may be more lines. */
  #grown = new AbortController();

  constructor(clock: ClientClock) {
    this.#clock = clock;
  }

  /** Lines that were appended while the server did not push are not pushed later: read now. */
  onLive(isLive: boolean): void {
    this.#isLive = isLive;
    this.#grown.abort(noLongerNeeded);
  }

  onGrown(): void {
    this.#grown.abort(noLongerNeeded);
  }

  /** Resolves when there may be more lines since it last resolved; after `pollMs` if nothing is pushed. Rejects with the signal's reason. */
  async next(pollMs: number, signal: AbortSignal): Promise<void> {
    const grown = this.#grown.signal;
    const ms = this.#isLive ? Math.max(pollMs, quietMs) : pollMs;
    try {
      if (!grown.aborted) await this.#clock.sleep(ms, AbortSignal.any([signal, grown]));
    } catch (error) {
      if (!grown.aborted) throw error;
    }
    signal.throwIfAborted();
    this.#grown = new AbortController();
  }
}

async function readText(
  { readPlainly }: Pick<RequestServices, "readPlainly">,
  uri: string,
  signal: AbortSignal,
): Promise<Reply<string>> {
  return readReply(await readPlainly(uri, signal), textOf);
}

function textOf({ contents }: ReadResourceResult): string {
  return contents.map((content) => ("text" in content ? content.text : "")).join("\n");
}

const cannotDelete: Reply<undefined> = {
  kind: "error",
  error: { code: -32601, message: "This version of the Tasks protocol cannot delete tasks" },
};
