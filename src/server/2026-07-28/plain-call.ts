import { isJsonObject } from "../../generation/json-object.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { completeAnswerOf } from "../answer.ts";
import type { Caller } from "../caller.ts";
import type { PlainCall } from "../plain/plain-call.ts";
import type { ToolRequest } from "../tool-request.ts";
import type { CallStream } from "./call-stream.ts";
import { askByAnswer } from "./rounds.ts";

/** A call of a client that did not declare the extension: its questions are answers to the call, round by round. */
export function plainCall(
  runtime: Runtime,
  request: ToolRequest,
  { capabilities, principal }: Caller,
  stream: CallStream,
): PlainCall {
  const { id, params, signal } = request;
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const { progressToken } = meta;
  return {
    request,
    owner: { principal, session: undefined, scopes: request.access?.scopes },
    capabilities,
    answerOf: completeAnswerOf,
    askByAnswer: (snapshot) => askByAnswer(runtime, snapshot, { params, principal, capabilities }),
    progress(report) {
      if (typeof progressToken !== "string" && typeof progressToken !== "number") return;
      stream.notify("notifications/progress", { progressToken, ...report }, id);
    },
    afterAnswer: (action) => stream.afterAnswer(id, (end) => action(end === "sent")),
    isWaitedFor: () => !signal.aborted,
    calledOff: () => signal.aborted && stream.leftByClient,
  };
}
