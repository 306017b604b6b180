import type { HttpRefusal } from "../../runtime/events/server-event.ts";
import type { ServerEvents } from "../../runtime/events/server-events.ts";
import { refused, type RefusedRequest } from "../refusal-events.ts";
import type { Outgoing } from "./exchange.ts";
import { isTooFast } from "./too-many-requests.ts";

/** Tells of an answer by which HTTP refuses a request. What JSON-RPC refuses has the status of a success, or is told where that is found. */
export function tellHttpRefusal(events: ServerEvents, answer: Response, request: RefusedRequest): void {
  const { status } = answer;
  const code = isTooFast(answer) ? "rate_limited" : (httpRefusals[status] ?? otherRefusal(status));
  events.emit({ ...refused(request), code, status });
}

/** Looked at for every answer, before anything is made of it. */
export function isHttpRefusal(answer: Outgoing): answer is Response {
  return answer instanceof Response && answer.status >= 400;
}

const httpRefusals: Readonly<Record<number, HttpRefusal>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  413: "too_large",
  429: "limit_reached",
  503: "unavailable",
};

function otherRefusal(status: number): HttpRefusal | "internal" {
  return status < 500 ? "invalid_request" : "internal";
}
