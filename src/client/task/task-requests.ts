import type { ReadResourceResult } from "@modelcontextprotocol/client";
import type { LineList } from "../../task/task-line.ts";
import type { BackgroundWork } from "../background-work.ts";
import type { ClientEvents } from "../client-events.ts";
import type { ClientClock } from "../clock.ts";
import { listArtifacts, type TaskArtifact } from "../artifact/list-artifacts.ts";
import { isUnknown, readReply, type Reply, replyError } from "../reply/reply.ts";
import { sendWithRetries } from "../reply/retry.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import { readLines, type LineReader, type LogLine, type OutputPart } from "./task-lines.ts";

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
