import { isJsonObject } from "../../generation/message.ts";
import type { RequestTrace } from "../tracing/request-trace.ts";
import { isStream } from "./sse.ts";
import { watchedStream } from "./watched-stream.ts";

/** The response to a listen request, whose span ends with its stream. */
export async function tracedListen(
  trace: RequestTrace,
  response: Response,
  signal: AbortSignal,
): Promise<Response> {
  const { body, status, headers } = response;
  if (body === null || !isStream(response)) {
    trace.answered({ error: errorIn(await response.clone().json()) });
    return response;
  }
  const watched = watchedStream(body, signal, (isRead) => {
    if (isRead) trace.answered({ result: {} });
    else trace.cancelled();
  });
  return new Response(watched.readable, { status, headers });
}

/** The error by which a request was refused. */
function errorIn(answer: unknown): { readonly code: number; readonly message: string } {
  const error = isJsonObject(answer) && isJsonObject(answer["error"]) ? answer["error"] : {};
  const { code, message } = error;
  return {
    code: typeof code === "number" ? code : -32603,
    message: typeof message === "string" ? message : "",
  };
}
