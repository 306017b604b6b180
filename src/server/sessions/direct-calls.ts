import { logMethod, type JsonObject } from "../../generation/message.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { validateArguments } from "../../runtime/tool/tool-outcome.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { type Answer, answerOf, progressTokenOf, type ToolRequest } from "../request.ts";
import { askClient } from "../connection/ask-client.ts";
import type { Connection } from "../connection/connection.ts";
import type { OnError } from "../faults.ts";
import {
  cannotAsk,
  type Departure,
  departureByReason,
  lacking,
  type PlainCall,
  type PollingToolKind,
} from "../plain/plain-policies.ts";
import type { PlainCalls } from "../plain/plain-calls.ts";
import type { PollingTools } from "../plain/polling-tools.ts";
import type { NotificationFormat } from "../subscriptions/subscribers.ts";
import { TaskSubscriptions } from "../subscriptions/subscriptions.ts";
import { missingForInput, type InputMethod } from "../../task/journal.ts";
import { inputFailed } from "../../runtime/questions/questions.ts";
import { HoldfastError } from "../../task/fault.ts";
import { errorResult, type Outcome } from "../../task/outcome.ts";
import { firstAttempt, judgeReply, paramsFor } from "../connection/question.ts";
import { reporting, runDirectly } from "../waiting-call.ts";
import { cannotBeAsked } from "../streams.ts";

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
    return answerOf(await runAsking(tool, request, connection, this.#runtime));
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
      capabilities: connection.canAskDuring(id) ? capabilities : {},
      client: connection.client,
      patience: connection.patience,
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

/** Answers a call without a task: progress, log messages and questions go out on the stream of the call. */
async function runAsking(
  tool: Tool,
  request: ToolRequest,
  connection: Connection,
  runtime: Runtime,
): Promise<Outcome> {
  const { id, params, signal } = request;
  const { capabilities } = connection;
  const missing = lacking(tool, capabilities);
  if (missing.length > 0) {
    // Invalid arguments are reported first, as a run would.
    const validated = await validateArguments(tool, params["arguments"]);
    return validated.ok ? errorResult(cannotAsk(tool, missing)) : validated.outcome;
  }
  const ask = async (key: unknown, method: InputMethod, question: object): Promise<unknown> => {
    const asked = { ...question } as JsonObject;
    const undeclared = missingForInput(method, asked, capabilities);
    if (undeclared !== undefined) {
      const names = Object.keys(undeclared).join(", ");
      throw new HoldfastError("input_failed", `The client cannot be asked: it did not declare ${names}.`);
    }
    if (!connection.canAskDuring(id)) {
      throw new HoldfastError("input_failed", cannotBeAsked);
    }
    const { clock } = runtime;
    for (let attempt = firstAttempt; ;) {
      const put = { method, params: asked, attempt };
      const sent = { connection, method, params: paramsFor(put), mayBeTask: !attempt.plainly };
      const verdict = judgeReply(put, await askClient({ ...sent, via: () => id, signal, clock }));
      if (verdict.kind === "answer") return verdict.value;
      if (verdict.kind === "error") throw inputFailed(String(key), verdict.error);
      attempt = verdict.attempt;
    }
  };

  const stream = {
    logLevel: () => connection.logLevel,
    notify: (method: string, said: object) => connection.notify(method, { ...said }, id),
  };
  const run = { ask, prepareInTask: true, principal: connection.principal } as const;
  return reporting(runtime, tool, request, stream, ({ progress, log }) =>
    runDirectly(runtime, tool, request, { ...run, progress, log }),
  );
}
