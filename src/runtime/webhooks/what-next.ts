import type { StoredDelivery } from "../../task/delivery.ts";
import { retryPause } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import type { PostAnswer } from "./post.ts";

const hour = 3_600_000;
/** From 5 seconds to 6 hours: about 20 tries until a message is given up. */
const backoff = { firstMs: 5_000, factor: 4, maxMs: 6 * hour };
/** How long after a change its message is retried before it is given up. */
const triedForMs = 72 * hour;

/** What to do with a message: it was accepted, the webhook wants no more, or it is sent again at a time; null: never. */
export type Next =
  | { readonly is: "delivered" }
  | { readonly is: "stopped" | "failed"; readonly problem: string; readonly at: number | null };

/** What to do after an answer, or after a failure with its reason. */
export function whatNext(
  delivery: StoredDelivery,
  answer: PostAnswer | { readonly problem: string },
  clock: Pick<Clock, "now" | "randomBytes">,
): Next {
  if ("status" in answer && answer.status >= 200 && answer.status < 300) return { is: "delivered" };
  const now = clock.now();
  const asked = "status" in answer ? askedPause(answer, now) : 0;
  const at = now + Math.max(retryPause(delivery.tries, clock, backoff), Math.min(asked, backoff.maxMs));
  const isStopped = "status" in answer && answer.status === 410;
  return {
    is: isStopped ? "stopped" : "failed",
    problem: problemOf(answer),
    at: at > delivery.at + triedForMs ? null : at,
  };
}

function problemOf(answer: PostAnswer | { readonly problem: string }): string {
  if ("problem" in answer) return answer.problem;
  const { status } = answer;
  return status >= 300 && status < 400 ? `HTTP ${status}: redirects are not followed` : `HTTP ${status}`;
}

/** The pause that `Retry-After` of a busy webhook asks for (ms): seconds, or a date. */
function askedPause({ status, retryAfter }: PostAnswer, now: number): number {
  if (retryAfter === undefined || (status !== 429 && status !== 503)) return 0;
  const text = retryAfter.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}
