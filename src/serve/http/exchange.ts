import { validateHeaderValue } from "node:http";
import { retryPause, systemClock } from "../../runtime/clock.ts";
import { isNonRetryable, NonRetryableError, retryLater, saidPause } from "../../runtime/tool/tool-errors.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import { HoldfastError } from "../../task/fault.ts";
import {
  assertAllowed,
  causes,
  reasonOf,
  shown,
  type HttpAnswer,
  type HttpRequest,
  type Sender,
} from "./send.ts";

export interface Exchange {
  readonly sender: Sender;
  /** What its entries in the journal begin with: of its own within the task. */
  readonly key: string;
  /** Makes the request. The key is the same for each try. */
  readonly request: (idempotencyKey: string) => HttpRequest;
  /** Whether the request may be sent twice: it only reads, is idempotent, or has an idempotency key that the service knows. */
  readonly mayRepeat: boolean;
  /** How often it is sent again after a failure. */
  readonly retries: number;
  /** The longest body that is read into the journal; more is left unread (`isLarge`). */
  readonly maxBytes: number;
  /** How long the service may take for one answer, in milliseconds. Left out: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Called with each answer, before `next` and `cancel` are. */
  readonly prepare?: (answer: HttpAnswer) => Promise<void>;
  /** Whether the answer to a look is that the work is done. Default: any but 202 is. */
  readonly isDone?: (answer: HttpAnswer) => boolean;
  /** The pause between two looks, in milliseconds, if the service says nothing. Default: from a second on, up to a minute. */
  readonly every?: number | undefined;
  /**
   * The request that looks at work that the service has begun; undefined if the answer is final. `from` was answered so. Default: what 202 and 303
   * point to.
   */
  readonly next?: (answer: HttpAnswer, from: HttpRequest) => HttpRequest | undefined;
  /** The request that ends work that the service has begun, once the task is cancelled. */
  readonly cancel?: (answer: HttpAnswer, from: HttpRequest) => HttpRequest | undefined;
}

/** Statuses with which a service has done nothing yet. */
const untouched = new Set([429, 503]);
/** Statuses after which a request that may be sent twice is sent again. */
const passing = new Set([408, 425, 429, 500, 502, 503, 504]);

/** How often work that the service has begun is looked at, in milliseconds, if it says nothing (RFC 7240 leaves that open). */
const firstLookMs = 1_000;
const longestLookMs = 60_000;
/** How many addresses in a row may point to the next one. */
const mostHops = 5;
const cancelMs = 5_000;

/**
 * Sends a request as part of a task, and resolves with the final answer. The intention is in the journal first: after a crash, a request that may not
 * be sent twice fails and says so. A service that accepts the work and answers later, with 202 and an address (RFC 7240), is looked at until it has
 * done it, through restarts and without a slot. Only addresses of the same origin are followed: the request has credentials.
 */
export async function exchange(task: TaskContext, given: Exchange): Promise<HttpAnswer> {
  const idempotencyKey = await task.step([given.key, "begin"], (step) => step.idempotencyKey);
  const first = given.request(idempotencyKey);
  let answer = await begin(task, given, first);
  let from = first;
  try {
    for (let hop = 0; hop < mostHops; hop++) {
      await given.prepare?.(answer);
      const next = (given.next ?? statusRequest)(answer, from);
      if (next === undefined) return answer;
      assertSameOrigin(next, first);
      answer = await look(task, given, hop, next, retryAfterMs(answer));
      from = next;
    }
  } catch (error) {
    if (task.cancelled) await cancel(given, answer, from);
    throw error;
  }
  throw new NonRetryableError(`${shown(first.url)} answers with one address after another.`);
}

/** Sends the request that begins the work, as often as it may be. */
async function begin(task: TaskContext, given: Exchange, request: HttpRequest): Promise<HttpAnswer> {
  const { key, mayRepeat, retries } = given;
  if (mayRepeat)
    return task.step([key, "request"], { retries }, async ({ signal }) => sendOnce(request, given, signal));
  // Each try is an entry of its own, so that only an attempt that ended during a try is one whose answer was lost, and none that ended between two.
  for (let tries = 0, failures = 0; ; tries++) {
    const attempt = await task.step([key, "try", tries], () => task.attempt);
    const tried = await task.step([key, "request", tries], async ({ signal }) => {
      if (attempt !== task.attempt) throw new NonRetryableError(inDoubt(request, "the server was restarted"));
      try {
        return { answer: await sendOnce(request, given, signal) };
      } catch (error) {
        signal.throwIfAborted();
        const saidMs = saidPause(error, systemClock.now());
        if (isNonRetryable(error) || (saidMs === undefined && failures >= retries)) throw error;
        const why = error instanceof Error ? error.message : String(error);
        return { why, saidMs, pauseMs: saidMs ?? retryPause(failures + 1, systemClock) };
      }
    });
    if ("answer" in tried) return tried.answer;
    if (tried.saidMs === undefined) failures++;
    await task.sleep([key, "pause before", tries], tried.pauseMs).catch((cause: unknown) => {
      throw outlivesTask(cause) ? new Error(tried.why, { cause }) : cause;
    });
  }
}

/** Looks until the answer is not that the work goes on. */
async function look(
  task: TaskContext,
  given: Exchange,
  hop: number,
  next: HttpRequest,
  pauseMs: number | undefined,
): Promise<HttpAnswer> {
  const { key, retries } = given;
  const { isDone = isFinal } = given;
  const every = given.every ?? pauseMs ?? firstLookMs;
  const pace =
    given.every === undefined ? { every, factor: 1.5, maxEvery: Math.max(every, longestLookMs) } : { every };
  const options = { ...pace, retries, until: isDone };
  try {
    if (pauseMs !== undefined) await task.sleep([key, "pause", hop], pauseMs);
    return await task.poll([key, "look", hop], options, async ({ signal }) => {
      const answer = await sendOnce(next, { ...given, mayRepeat: true }, signal);
      const ms = isDone(answer) ? undefined : retryAfterMs(answer);
      if (ms !== undefined) throw retryLater(ms);
      return answer;
    });
  } catch (cause) {
    if (!outlivesTask(cause)) throw cause;
    const where = shown(next.url);
    throw new NonRetryableError(
      `The work had not ended when ${where} was last asked, and the time of this call ends before it would be asked again. To wait longer, raise maxRunMs or ttlMs of the tool.`,
      { cause },
    );
  }
}

function outlivesTask(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "outlives_task";
}

const isFinal = ({ status }: HttpAnswer): boolean => status !== 202;

/** What 202 and 303 point to. A read that is accepted without an address is asked again, as services say that answer so while they still compute. */
export function statusRequest(
  { status, headers, url }: HttpAnswer,
  from: HttpRequest,
  isPending = status === 202,
): HttpRequest | undefined {
  if (!isPending && status !== 303) return undefined;
  const address = headers["location"] ?? headers["operation-location"] ?? headers["content-location"];
  if (address === undefined) return status === 202 && from.method === "GET" ? from : undefined;
  if (!URL.canParse(address, url)) return undefined;
  const { "content-type": _, "idempotency-key": __, prefer: ___, ...rest } = from.headers;
  return { method: "GET", url: new URL(address, url).href, headers: rest, prove: from.prove };
}

async function sendOnce(
  request: HttpRequest,
  {
    sender,
    mayRepeat,
    maxBytes,
    timeoutMs,
  }: Pick<Exchange, "sender" | "mayRepeat" | "maxBytes" | "timeoutMs">,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const proven = await provenOf(request); // a failure here is none of the request
  assertHeaders(proven);
  signal.throwIfAborted();
  let answer: HttpAnswer;
  try {
    answer = { ...(await sender.send(proven, { maxBytes, signal, timeoutMs })), url: request.url };
  } catch (cause) {
    signal.throwIfAborted();
    const why = reasonOf(cause);
    assertAllowed(request.url, cause);
    if (mayRepeat || neverArrived(cause))
      throw new Error(`${request.method} ${shown(request.url)} failed: ${why}`, { cause });
    throw new NonRetryableError(inDoubt(request, why), { cause });
  }
  if ((mayRepeat ? passing : untouched).has(answer.status)) throw new RefusedError(request, answer);
  return answer;
}

/** Throws for values that no header can have: what is never sent has no effect that could be unknown. */
function assertHeaders({ headers }: HttpRequest): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderValue(name, value);
    } catch {
      throw new NonRetryableError(
        `The value of the header "${name}" has a character that no header can have, such as the end of a line. Nothing was sent.`,
      );
    }
  }
}

async function provenOf(request: HttpRequest): Promise<HttpRequest> {
  return request.prove === undefined ? request : request.prove(request);
}

/** The step that throws it waits as long as its `Retry-After` says. */
class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(request: HttpRequest, { status, headers, text = "" }: HttpAnswer) {
    super(
      `${request.method} ${shown(request.url)} was answered with HTTP ${status}. ${text.slice(0, 500)}`.trim(),
    );
    this.status = status;
    this.headers = headers;
  }
}

/** How long the service asks to wait (RFC 9110); also if it says "now", the work has not ended. */
function retryAfterMs({ headers }: HttpAnswer): number | undefined {
  const said = headers["retry-after"];
  if (said === undefined) return undefined;
  const ms = /^\d+$/u.test(said) ? Number(said) * 1_000 : Date.parse(said) - systemClock.now();
  return Number.isFinite(ms) ? Math.max(ms, firstLookMs) : undefined;
}

function assertSameOrigin(next: HttpRequest, first: HttpRequest): void {
  const [there, here] = [new URL(next.url).origin, new URL(first.url).origin];
  if (there === here) return;
  throw new NonRetryableError(
    `${shown(first.url)} points to ${there}, another origin, which is not followed.`,
  );
}

async function cancel(given: Exchange, answer: HttpAnswer, from: HttpRequest): Promise<void> {
  const request = given.cancel?.(answer, from);
  if (request === undefined) return;
  const { signal } = new AbortController();
  const { sender, maxBytes } = given;
  await provenOf(request)
    .then((proven) => sender.send(proven, { maxBytes, signal, timeoutMs: cancelMs }))
    .catch(() => undefined); // the work ends by itself
}

function inDoubt(request: HttpRequest, why: string): string {
  return `The answer to ${request.method} ${shown(request.url)} was lost (${why}). It is not known whether the request had an effect, so it was not sent again.`;
}

/** Whether the connection was never made. */
function neverArrived(error: unknown): boolean {
  const codes = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];
  return codes.some((code) => causes(error).some((each) => "code" in each && each.code === code));
}
