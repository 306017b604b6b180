import { type ContentBlock, isSpecType, type ReadResourceResult } from "@modelcontextprotocol/client";
import { isJsonObject, logLevelOf } from "../../generation/message.ts";
import { artifactUri } from "../../task/artifact.ts";
import { isUnknown, readReply, type Reply, replyError, type Unanswered } from "../reply/reply.ts";
import { mayPass, sendWithRetries, Failures, pollFailed, type Trouble } from "../reply/retry.ts";
import { TaskClientError } from "../task-client-error.ts";
import { type ClientClock, noLongerNeeded } from "../clock.ts";
import { taskResourceUri } from "../../generation/extensions.ts";
import type { LineList, LogLevel } from "../../task/task-line.ts";
import type { ClientEvents } from "../client-events.ts";
import type { LineListener, TaskProtocol } from "../task-protocol.ts";
import { hasEnded, type RemoteTask } from "./remote-task.ts";
import type { BackgroundWork } from "../background-work.ts";

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

export interface ArtifactLister {
  readonly clock: ClientClock;
  /** The text of a resource. */
  readonly readText: (uri: string, signal: AbortSignal) => Promise<Reply<string>>;
  readonly onTrouble: (trouble: Trouble | null) => void;
}

/** The artifacts of a task that are complete, however long the server does not answer. */
async function listArtifacts(
  taskId: string,
  { clock, readText, onTrouble }: ArtifactLister,
  signal: AbortSignal,
): Promise<readonly TaskArtifact[]> {
  const uri = artifactUri(taskId);
  const reply = await sendWithRetries(() => readText(uri, signal), clock, signal, { onPause: onTrouble });
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

interface LineReader {
  readonly taskId: string;
  readonly clock: ClientClock;
  /** The text of a resource. */
  readonly readText: (uri: string, signal: AbortSignal) => Promise<Reply<string>>;
  readonly get: (signal: AbortSignal) => Promise<Reply<RemoteTask>>;
  /** The error for an answer to `get` that is no task. */
  readonly unreadable: (reply: Unanswered) => unknown;
  /** `followLines` of the protocol. */
  readonly followLines?: TaskProtocol["followLines"];
  /** Tracks background work, so that closing the client waits for it. */
  readonly run: (work: Promise<void>) => void;
  /** Whether to continue until the task has ended. */
  readonly follow: boolean;
  readonly onTrouble: (trouble: Trouble | null) => void;
  /** Receives an event when the server cannot be reached, and when it answers again. */
  readonly events: Pick<ClientEvents, "emit">;
}

/** The pause before reading on if the task has no poll interval (ms). */
const pauseMs = 1_000;

/** The lines of a task's list from the first that the server keeps; with `follow` also each new line, until the task has ended. */
export async function* readLines<Read extends Line>(
  list: LineList,
  { taskId, clock, readText, get, unreadable, follow, followLines, run, events, onTrouble }: LineReader,
  signal: AbortSignal,
): AsyncGenerator<Read, void, undefined> {
  const uri = taskResourceUri(taskId, list);
  const updates = new LineUpdates(clock);
  const finished = new AbortController();
  if (follow && followLines !== undefined) {
    // If that fails, the list is polled.
    run(followLines(uri, updates, AbortSignal.any([signal, finished.signal])).catch(() => undefined));
  }
  const failed = new Failures(clock);
  /** Resolves with an answer, however long the server gives none. Rejects if a repeat would not help. */
  const ask = async <T>(
    send: () => Promise<Reply<T>>,
    errorOf: (reply: Unanswered) => unknown,
  ): Promise<T> => {
    for (;;) {
      const reply = await send();
      if (reply.kind === "value") {
        if (failed.end()) {
          events.emit({ type: "poll_recovered", taskId });
          onTrouble(null);
        }
        return reply.value;
      }
      if (!mayPass(reply)) throw errorOf(reply);
      const trouble = failed.next(reply);
      events.emit(pollFailed(taskId, trouble, reply));
      onTrouble(trouble);
      await clock.sleep(trouble.retryInMs, signal);
    }
  };
  const state = async (): Promise<RemoteTask> => ask(() => get(signal), unreadable);
  try {
    // A task that has ended has no lines after those that are read then.
    let task = await state();
    for (let after = 0; ;) {
      const text = await ask(
        () => readText(`${uri}?after=${after}`, signal),
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

interface TaskRequestServices {
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly events: ClientEvents;
  readonly background: BackgroundWork;
  /** Reads a resource by a request, which is sent once. */
  readonly readPlainly: (uri: string, signal: AbortSignal) => Promise<Reply<ReadResourceResult>>;
}

/** What callers request for their tasks, besides the polls of a wait. */
export class TaskRequests {
  /** Whether tasks can be deleted. */
  readonly canDelete: boolean;
  readonly #services: TaskRequestServices;

  constructor(services: TaskRequestServices) {
    this.canDelete = services.protocol.delete !== undefined;
    this.#services = services;
  }

  /** Repeats the request until the server acknowledges it. */
  async cancel(taskId: string, signal: AbortSignal): Promise<void> {
    const { protocol, clock, events } = this.#services;
    events.emit({ type: "cancel_requested", taskId });
    const reply = await sendWithRetries(() => protocol.cancel(taskId, signal), clock, signal);
    if (isUnknown(reply)) throw unknownTask(reply, taskId);
    if (reply.kind !== "value") throw replyError(reply, taskId);
    events.emit({ type: "cancel_acknowledged", taskId });
  }

  async delete(taskId: string, signal: AbortSignal): Promise<void> {
    const reply = (await this.#services.protocol.delete?.(taskId, signal)) ?? cannotDelete;
    if (reply.kind !== "value") throw replyError(reply, taskId);
  }

  /** The lines of the task's log or output. See `readLines`. */
  lines<Read extends LogLine | OutputPart>(
    taskId: string,
    list: LineList,
    how: Pick<LineReader, "follow" | "get" | "unreadable" | "onTrouble">,
    signal: AbortSignal,
  ): AsyncGenerator<Read, void, undefined> {
    const { protocol, clock, background, events } = this.#services;
    const readText = (uri: string, until: AbortSignal): Promise<Reply<string>> => this.#readText(uri, until);
    const { followLines } = protocol;
    const run = (work: Promise<void>): void => background.run(work);
    const reader = { ...how, taskId, clock, readText, run, followLines, events };
    return readLines<Read>(list, reader, signal);
  }

  /** The files that the task has made. See `listArtifacts`. */
  artifacts(
    taskId: string,
    onTrouble: LineReader["onTrouble"],
    signal: AbortSignal,
  ): Promise<readonly TaskArtifact[]> {
    const { clock } = this.#services;
    const readText = (uri: string, until: AbortSignal): Promise<Reply<string>> => this.#readText(uri, until);
    return listArtifacts(taskId, { clock, readText, onTrouble }, signal);
  }

  async #readText(uri: string, until: AbortSignal): Promise<Reply<string>> {
    return readReply(await this.#services.readPlainly(uri, until), textOf);
  }
}

function textOf({ contents }: ReadResourceResult): string {
  return contents.map((content) => ("text" in content ? content.text : "")).join("\n");
}

export function unknownTask(reply: Reply<unknown>, taskId: string): TaskClientError {
  const error = reply.kind === "error" ? { error: reply.error } : {};
  return new TaskClientError("unknown_task", "The server does not know the task", { ...error, taskId });
}

const cannotDelete: Reply<undefined> = {
  kind: "error",
  error: { code: -32601, message: "This version of the Tasks protocol cannot delete tasks" },
};
