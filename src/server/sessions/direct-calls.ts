import { logMethod } from "../../generation/message.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { validateArguments } from "../../runtime/tool/tool-outcome.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { answerOf, type Answer } from "../answer.ts";
import { askClient } from "../connection/ask-client.ts";
import type { Connection } from "../connection/connection.ts";
import type { OnError } from "../faults.ts";
import { departureByReason, type Departure } from "../plain/departure.ts";
import type { PlainCall } from "../plain/plain-call.ts";
import type { PlainCalls } from "../plain/plain-calls.ts";
import type { PollingToolKind } from "../plain/plain-policies.ts";
import type { PollingTools } from "../plain/polling-tools.ts";
import { progressTokenOf, type ToolRequest } from "../request.ts";
import type { NotificationFormat } from "../subscriptions/notification-format.ts";
import { TaskSubscriptions } from "../subscriptions/task-subscriptions.ts";
import { runDirectly } from "./run-directly.ts";

/** Clients without tasks get no notifications about them. A question belongs to their call. */
const format: NotificationFormat = {
  ask: (question) => askClient({ ...question, mayBeTask: false }),
};

/** Answers calls that ask for no task, on connections of earlier revisions; they reject with a `HoldfastError`. */
export class DirectCalls {
  readonly #runtime: Runtime;
  readonly #plain: PlainCalls;
  readonly #pollingTools: PollingTools;
  /** Asks the questions of calls of clients without tasks. */
  readonly #questions: TaskSubscriptions;

  constructor(runtime: Runtime, plain: PlainCalls, pollingTools: PollingTools, onError: OnError) {
    this.#runtime = runtime;
    this.#plain = plain;
    this.#pollingTools = pollingTools;
    this.#questions = new TaskSubscriptions(runtime, onError, format);
  }

  /** Runs the tool without a task. */
  async run(tool: Tool, request: ToolRequest, connection: Connection): Promise<Answer> {
    return answerOf(await runDirectly(tool, request, connection, this.#runtime));
  }

  /** Waits for the task that the call of a client without tasks has. */
  async wait(tool: Tool, request: ToolRequest, connection: Connection): Promise<Answer> {
    const validated = await validateArguments(tool, request.params["arguments"]);
    if (!validated.ok) return answerOf(validated.outcome);
    return this.#plain.call(tool, this.#plainCall(request, connection));
  }

  poll(kind: PollingToolKind, request: ToolRequest, connection: Connection): Promise<Answer> {
    return this.#pollingTools.answer(kind, this.#plainCall(request, connection));
  }

  /** Continues a call whose task another process created; the tool may be gone. */
  resume(
    task: TaskRecord,
    tool: Tool | undefined,
    request: ToolRequest,
    connection: Connection,
  ): Promise<Answer> {
    return this.#plain.resume(task, tool, this.#plainCall(request, connection));
  }

  /** The client leaves a call whose task another process created. */
  leave(task: TaskRecord, departure: Departure): Promise<void> {
    return this.#plain.leave(task, departure);
  }

  /**
   * Its questions are requests on the stream of the call, or of an equal call whose client can be reached. If the stream breaks, the client
   * may resume it. If it does not, the call ends, and its task continues.
   */
  #plainCall(request: ToolRequest, connection: Connection): PlainCall {
    const { id, params, signal } = request;
    const { principal, streams, capabilities } = connection;
    const progressToken = progressTokenOf(params);
    return {
      request: { ...request, signal: AbortSignal.any([signal, connection.lost(id, signal)]) },
      owner: { principal, session: streams.sessionKey, scopes: request.access?.scopes },
      capabilities,
      answerOf,
      joined: (task) => streams.joined?.(id, task),
      attend: (task, requestor, over) => {
        const wait = { connection, request: id, signal: over };
        this.#questions.finished(task, requestor, wait).catch(() => undefined); // the call fails with the same fault
      },
      logLevel: () => connection.logLevel,
      log: (message) => connection.notify(logMethod, message, id),
      hasProgressToken: progressToken !== undefined,
      progress(report) {
        if (progressToken === undefined) return;
        connection.notify("notifications/progress", { progressToken, ...report }, id);
      },
      afterAnswer: (action) => connection.afterAnswer(id, (end) => action(end === "sent")),
      onBroken: (listener) => streams.onBroken((broken) => broken === id && listener()),
      isWaitedFor: () => !signal.aborted && !connection.isBroken(id),
      // The end of a connection aborts all its requests, which does not cancel them.
      departure: () =>
        signal.aborted && !connection.closing.aborted ? departureByReason(signal.reason) : undefined,
    };
  }
}
