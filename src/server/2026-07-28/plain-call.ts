import { logMethod } from "../../generation/message.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { completeAnswerOf } from "../answer.ts";
import { progressTokenOf, type Caller, type ToolRequest } from "../request.ts";
import { departureAfter, departureByReason } from "../plain/departure.ts";
import type { PlainCall } from "../plain/plain-call.ts";
import { askByAnswer } from "./mrtr.ts";
import type { RequestStream } from "./request-stream.ts";

/** A call of a client that did not declare the extension: its questions are answers to the call, round by round. */
export function plainCall(
  runtime: Runtime,
  request: ToolRequest,
  { capabilities, principal, logLevel }: Caller,
  stream: RequestStream,
): PlainCall {
  const { params, signal } = request;
  const progressToken = progressTokenOf(params);
  const arrivedAt = runtime.clock.elapsed();
  return {
    request,
    owner: { principal, session: undefined, scopes: request.access?.scopes },
    capabilities,
    answerOf: completeAnswerOf,
    askByAnswer: (snapshot) => askByAnswer(runtime, snapshot, { params, principal, capabilities }),
    logLevel: () => logLevel,
    log: (message) => stream.notify(logMethod, message),
    hasProgressToken: progressToken !== undefined,
    progress(report) {
      if (progressToken === undefined) return;
      stream.notify("notifications/progress", { progressToken, ...report });
    },
    afterAnswer: (action) => stream.afterAnswer((end) => action(end === "sent")),
    isWaitedFor: () => !signal.aborted,
    departure() {
      if (!signal.aborted || stream.leftBy === undefined) return undefined;
      return stream.leftBy === "closing"
        ? departureAfter(runtime.clock.elapsed() - arrivedAt)
        : departureByReason(signal.reason);
    },
  };
}
