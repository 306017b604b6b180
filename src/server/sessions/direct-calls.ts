import type { RequestId } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../generation/message.ts";
import { validateArguments } from "../../runtime/tool/tool-outcome.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { type Answer, answerOf, type ToolRequest } from "../request.ts";
import { askClient } from "../connection/ask-client.ts";
import { cannotAsk, departureByReason, lacking, type PlainCall } from "../plain/plain-policies.ts";
import type { NotificationFormat } from "../subscriptions/subscribers.ts";
import type { SessionContext } from "./session-context.ts";
import { missingForInput, type InputMethod } from "../../task/journal.ts";
import { inputFailed } from "../../runtime/questions/questions.ts";
import { HoldfastError } from "../../task/fault.ts";
import { errorResult } from "../../task/outcome.ts";
import { firstAttempt, judgeReply, paramsFor } from "../connection/question.ts";
import { type CallStream, reporting, runDirectly } from "../waiting-call.ts";
import type { Connection } from "../connection/connection.ts";
import { cannotBeAsked } from "../streams.ts";

/** Clients without tasks get no notifications about them. A question belongs to their call. */
export const format: NotificationFormat = {
  ask: (question) => askClient({ ...question, mayBeTask: false }),
};

/** Waits for the task of a call that asks for none; rejects with a `HoldfastError`. */
export async function waitForCall(
  context: SessionContext,
  tool: Tool,
  request: ToolRequest,
): Promise<Answer> {
  const validated = await validateArguments(tool, request.params["arguments"]);
  if (!validated.ok) return answerOf(validated.outcome);
  return context.services.plain.call(tool, plainCall(request, context));
}

/**
 * A call of a client without tasks. Its questions are requests on the stream of the call, or of an equal call whose client can be reached. If the stream breaks, the client
 * may resume it. If it does not, the call ends, and its task continues.
 */
export function plainCall(request: ToolRequest, { core, services }: SessionContext): PlainCall {
  const { id, signal } = request;
  const { connection } = core;
  const { principal, streams, capabilities } = connection;
  return {
    request: { ...request, signal: AbortSignal.any([signal, connection.lost(id, signal)]) },
    owner: { principal, session: streams.sessionKey, scopes: request.access?.scopes },
    capabilities: connection.canAskDuring(id) ? capabilities : {},
    client: connection.client,
    patience: connection.patience,
    answerOf,
    joined: (task) => streams.joined?.(id, task),
    attend: (task) => services.subscriptions.plain.attend(task, task, { connection, request: id }),
    stream: streamOf(connection, id),
    onBroken: (listener) => streams.onBroken((broken) => broken === id && listener()),
    isWaitedFor: () => !signal.aborted && !connection.isBroken(id),
    // The end of a connection aborts all its requests, which does not cancel them.
    departure: () =>
      signal.aborted && !connection.closing.aborted ? departureByReason(signal.reason) : undefined,
  };
}

function streamOf(connection: Connection, request: RequestId): CallStream {
  return {
    logLevel: () => connection.logLevel,
    notify: (method, params) => connection.notify(method, { ...params }, request),
    afterAnswer: (action) => connection.afterAnswer(request, action),
  };
}

/** Answers a call without a task: progress, log messages and questions go out on the stream of the call. */
export async function runCall(
  { services, core: { connection } }: SessionContext,
  tool: Tool,
  request: ToolRequest,
): Promise<Answer> {
  const { runtime } = services;
  const { id, params, signal } = request;
  const { capabilities } = connection;
  const missing = lacking(tool, capabilities);
  if (missing.length > 0) {
    // Invalid arguments are reported first, as a run would.
    const validated = await validateArguments(tool, params["arguments"]);
    return answerOf(validated.ok ? errorResult(cannotAsk(tool, missing)) : validated.outcome);
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

  const terms = { ask, prepareInTask: true, principal: connection.principal } as const;
  return reporting(runtime, tool, request, streamOf(connection, id), async ({ progress, log }) =>
    answerOf(await runDirectly(runtime, tool, request, { ...terms, progress, log })),
  );
}
