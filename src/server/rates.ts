import { monitorEventLoopDelay } from "node:perf_hooks";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { isJsonObject, type JsonObject } from "../generation/message.ts";
import { asksForTask } from "../generation/sep-1686.ts";
import { HoldfastError } from "../task/fault.ts";
import type { PollingToolKind } from "./plain/plain-policies.ts";
import { taskResourceOf } from "./task-resources.ts";
import type { RateSettings } from "./limits.ts";

/** The delay of the event loop in ms: the 90th percentile of the last second. */
type LoopDelay = () => number;

const windowMs = 1_000;

export function measureLoopDelay(elapsed: () => number): LoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: 20 });
  histogram.enable();
  let delay = 0;
  let since = elapsed();
  return () => {
    if (elapsed() - since < windowMs) return delay;
    delay = histogram.percentile(90) / 1e6;
    histogram.reset();
    since = elapsed();
    return delay;
  };
}

/** Maximum number of tasks with a non-default poll interval; above it, the oldest get the default again. */
const maxIntervals = 10_000;

/** When the process may be less busy, in ms. */
const calmAfterMs = 1_000;

export interface RatesSetup {
  readonly rates: RateSettings;
  /** The default poll interval, in ms. */
  readonly pollIntervalMs: number;
  readonly loopDelay: LoopDelay;
  /** The polling tool of that name. Its calls count as the methods that clients with tasks use. */
  readonly pollingTool?: (name: unknown) => PollingToolKind | undefined;
  /** Whether all tasks that a message names are the principal's own. */
  readonly finds: (message: JsonObject, principal: string) => Promise<boolean>;
}

/** Refuses requests that come too fast, before any work is done for them. */
export class Rates {
  readonly #setup: RatesSetup;
  readonly #calls: RateLimiterMemory | undefined;
  readonly #lists: RateLimiterMemory | undefined;
  readonly #misses: RateLimiterMemory | undefined;
  readonly #polls: RateLimiterMemory | undefined;
  readonly #intervals = new Map<string, number>();

  constructor(setup: RatesSetup) {
    this.#setup = setup;
    const { callsPerMinute, listsPerMinute, missesPerMinute, pollsPerInterval } = setup.rates;
    this.#calls = limiter(callsPerMinute);
    this.#lists = limiter(listsPerMinute);
    this.#misses = limiter(missesPerMinute);
    this.#polls = limiter(pollsPerInterval);
  }

  /** The fault, with `data.retryAfterMs`, of a message or batch beyond a limit; else undefined. */
  async refusal(body: unknown, principal: string | null): Promise<HoldfastError | undefined> {
    for (const message of Array.isArray(body) ? (body as unknown[]) : [body]) {
      const fault = isJsonObject(message) ? await this.#refuse(message, principal) : undefined;
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  /** The principal asked for tasks that it does not have. */
  missed(principal: string | null, tasks = 1): void {
    if (principal !== null && tasks > 0) void this.#misses?.penalty(principal, tasks);
  }

  /** The principal was answered with this poll interval for its task. */
  advertised(taskId: string, principal: string | null, pollIntervalMs: number): void {
    const poller = pollerOf(taskId, principal);
    this.#intervals.delete(poller);
    if (pollIntervalMs === this.#setup.pollIntervalMs) return;
    this.#intervals.set(poller, pollIntervalMs);
    if (this.#intervals.size <= maxIntervals) return;
    for (const oldest of this.#intervals.keys()) {
      this.#intervals.delete(oldest);
      return;
    }
  }

  async #refuse(message: JsonObject, principal: string | null): Promise<HoldfastError | undefined> {
    const { method, params } = message;
    switch (method) {
      case "tools/call":
        return this.#calling(message, principal);
      case "resources/read":
      case "prompts/get":
        if (taskResourceOf(method, params) !== undefined) return this.#guessing(message, principal);
        return asksForTask(params)
          ? (this.#overloaded() ?? consume(this.#calls, principal, "calls"))
          : undefined;
      case "tasks/list":
        return consume(this.#lists, principal, "requests to list tasks");
      case "tasks/get":
      case "tasks/result":
        return (await this.#guessing(message, principal)) ?? (await this.#polling(method, params, principal));
      case "tasks/update":
      case "tasks/cancel":
      case "tasks/delete":
      case "subscriptions/listen":
        return this.#guessing(message, principal);
      default:
        return undefined;
    }
  }

  async #calling(message: JsonObject, principal: string | null): Promise<HoldfastError | undefined> {
    const { params } = message;
    const kind = this.#setup.pollingTool?.(isJsonObject(params) ? params["name"] : undefined);
    // Calls of polling tools start no work, but count as calls.
    const early =
      kind === undefined ? this.#overloaded() : await this.#refusePollingTool(kind, message, principal);
    return early ?? consume(this.#calls, principal, "calls");
  }

  #refusePollingTool(
    kind: PollingToolKind,
    message: JsonObject,
    principal: string | null,
  ): Promise<HoldfastError | undefined> {
    return kind === "list"
      ? consume(this.#lists, principal, "requests to list tasks")
      : this.#guessing(message, principal);
  }

  /** New work is refused first: answers about existing tasks cost little, and clients wait for them. */
  #overloaded(): HoldfastError | undefined {
    const { rates, loopDelay } = this.#setup;
    const late = rates.maxLoopDelayMs !== null && loopDelay() > rates.maxLoopDelayMs;
    return late ? tooMuch("The server is overloaded. Try again later.", calmAfterMs) : undefined;
  }

  /** A principal beyond its limit is still answered about its own tasks, which are looked up first. */
  async #guessing(message: JsonObject, principal: string | null): Promise<HoldfastError | undefined> {
    if (principal === null || this.#misses === undefined) return undefined;
    const misses = await this.#misses.get(principal);
    if (misses === null || misses.consumedPoints < this.#misses.points) return undefined;
    if (await this.#setup.finds(message, principal)) return undefined;
    return tooFast("lookups of unknown tasks", misses.msBeforeNext);
  }

  /** Polls and fetches are counted apart, so that who has polled too often can still fetch the result (S-089). */
  async #polling(
    method: string,
    params: unknown,
    principal: string | null,
  ): Promise<HoldfastError | undefined> {
    const taskId = isJsonObject(params) ? params["taskId"] : undefined;
    if (typeof taskId !== "string") return undefined;
    const poller = pollerOf(taskId, principal);
    const interval = this.#intervals.get(poller) ?? this.#setup.pollIntervalMs;
    const [key, what] =
      method === "tasks/get"
        ? [poller, "polls of this task"]
        : [`result ${poller}`, "requests for this result"];
    return interval <= 0 ? undefined : consume(this.#polls, key, what, interval / 1_000);
  }
}

/** Per principal: else another one that knows the id could use up the owner's polls, and see the interval. */
function pollerOf(taskId: string, principal: string | null): string {
  return `${taskId.length} ${taskId}${principal === null ? "" : ` ${principal}`}`;
}

/** Per minute, unless `consume` is given another duration. */
function limiter(points: number | null): RateLimiterMemory | undefined {
  return points === null ? undefined : new RateLimiterMemory({ points, duration: 60 });
}

async function consume(
  rate: RateLimiterMemory | undefined,
  key: string | null,
  what: string,
  seconds?: number,
): Promise<HoldfastError | undefined> {
  if (rate === undefined || key === null) return undefined;
  try {
    await rate.consume(key, 1, seconds === undefined ? {} : { customDuration: seconds });
    return undefined;
  } catch (refused) {
    if (!(refused instanceof RateLimiterRes)) throw refused;
    return tooFast(what, refused.msBeforeNext);
  }
}

function tooFast(what: string, retryAfterMs: number): HoldfastError {
  return tooMuch(`Too many ${what} in a short time. Try again later.`, retryAfterMs);
}

function tooMuch(message: string, retryAfterMs: number): HoldfastError {
  return new HoldfastError("rate_limited", message, { data: { retryAfterMs: Math.max(1, retryAfterMs) } });
}
