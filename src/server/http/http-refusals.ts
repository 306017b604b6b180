import type { HttpRefusal } from "../../runtime/events/server-event.ts";
import type { ServerEvents } from "../../runtime/events/server-events.ts";
import { refused, type RefusedRequest } from "../refusal-events.ts";
import type { Outgoing } from "./exchange.ts";
import { isTooFast } from "./too-many-requests.ts";

/** Reports an answer by which HTTP refuses a request. Refusals of JSON-RPC have a success status, or are reported where they occur. */
export function reportHttpRefusal(events: ServerEvents, answer: Response, request: RefusedRequest): void {
  const { status } = answer;
  const code = isTooFast(answer) ? "rate_limited" : (httpRefusals[status] ?? otherRefusal(status));
  events.emit({ ...refused(request), code, status });
}

/** Checked for every answer before it is sent. */
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
