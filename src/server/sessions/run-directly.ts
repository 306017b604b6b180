import type { JsonObject } from "../../generation/message.ts";
import { missingForInput, type InputMethod } from "../../task/journal.ts";
import { inputFailed } from "../../runtime/questions/answers.ts";
import { HoldfastError } from "../../task/fault.ts";
import { errorResult, type Outcome } from "../../task/outcome.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { validateArguments } from "../../runtime/tool/tool-outcome.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { askClient } from "../connection/ask-client.ts";
import type { Connection } from "../connection/connection.ts";
import { firstAttempt, judgeReply, paramsFor } from "../connection/question-retry.ts";
import { DirectReports } from "../log/direct-reports.ts";
import { cannotAsk, lacking } from "../plain/capabilities.ts";
import { receivedBy } from "../received.ts";
import { callerOf, progressTokenOf, type ToolRequest } from "../request.ts";

/** Answers a call without a task: progress, log messages and questions go out on the stream of the call. */
export async function runDirectly(
  tool: Tool,
  request: ToolRequest,
  connection: Connection,
  runtime: Runtime,
): Promise<Outcome> {
  const { id, params, signal, auth } = request;
  const { capabilities } = connection;
  const missing = lacking(tool, capabilities);
  if (missing.length > 0) {
    // Invalid arguments are reported first, as a run would.
    const validated = await validateArguments(tool, params["arguments"]);
    return validated.ok ? errorResult(cannotAsk(tool, missing)) : validated.outcome;
  }
  const reports = new DirectReports({
    clock: runtime.clock,
    tool: tool.name,
    progressToken: progressTokenOf(params),
    logLevel: () => connection.logLevel,
    notify: (method, said) => connection.notify(method, { ...said }, id),
  });

  const ask = async (key: unknown, method: InputMethod, question: object): Promise<unknown> => {
    const asked = { ...question } as JsonObject;
    const undeclared = missingForInput(method, asked, capabilities);
    if (undeclared !== undefined) {
      const names = Object.keys(undeclared).join(", ");
      throw new HoldfastError("input_failed", `The client cannot be asked: it did not declare ${names}.`);
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

  try {
    return await runtime.runInline({
      tool,
      arguments: params["arguments"],
      prepareInTask: true,
      signal,
      ask,
      progress: reports.progress,
      log: reports.log,
      caller: callerOf({ auth }, connection.principal),
      credentials: auth?.credentials,
      received: receivedBy(tool, request),
      trace: request.trace?.context,
    });
  } finally {
    reports.end();
  }
}
