import { isJsonObject } from "../../generation/json-object.ts";
import { answerOf } from "../answer.ts";
import type { PlainCall } from "../plain/plain-call.ts";
import type { ToolRequest } from "../tool-request.ts";
import type { Callee } from "./callee.ts";

/**
 * A call of a client without tasks on a connection of an earlier revision. Its questions are requests on the stream of
 * the call, from whichever of its calls reaches the client. A stream that breaks says nothing: the client may come back for
 * the answer. If it does not, the call waits no longer, and its task goes on.
 */
export function plainCall(
  request: ToolRequest,
  { connection, asking }: Pick<Callee, "connection" | "asking">,
): PlainCall {
  const { id, params, signal } = request;
  const { principal, streams, capabilities } = connection;
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const { progressToken } = meta;
  return {
    request: { ...request, signal: AbortSignal.any([signal, connection.lost(id, signal)]) },
    owner: { principal, session: streams.sessionId, scopes: request.access?.scopes },
    capabilities,
    answerOf,
    attend(task, requestor, over) {
      const wait = { connection, request: id, signal: over };
      asking.finished(task, requestor, wait).catch(() => undefined); // who waits hears it too
    },
    progress(report) {
      if (typeof progressToken !== "string" && typeof progressToken !== "number") return;
      connection.notify("notifications/progress", { progressToken, ...report }, id);
    },
    afterAnswer(action) {
      if (connection.closing.aborted) action(false);
      else connection.afterAnswer(id, (end) => action(end === "sent"));
    },
    isWaitedFor: () => !signal.aborted && !connection.isBroken(id),
    // When the connection ends, that has aborted all its requests, and nobody called anything off.
    calledOff: () => signal.aborted && !connection.closing.aborted,
  };
}
