import { sameJson } from "../../generation/message.ts";
import { hasEnded, type RemoteTask } from "./remote-task.ts";
import { type ClientClock, noLongerNeeded } from "../clock.ts";
import type { ClientWaitSpan, ClientEvents } from "../client-events.ts";
import type { ListenStreams, Unsubscribe } from "./listen-streams.ts";
import {
  type ClientPollLimit,
  expiryTime,
  fallbackDelay,
  pollDelay,
  pollInterval,
  type TaskPollLimit,
} from "./poll-limits.ts";
import {
  isFinal,
  isTransient,
  isUnknown,
  isViolation,
  type Reply,
  replyError,
  type Unanswered,
} from "../reply/reply.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import { Failures, pollFailed, type Trouble } from "../reply/retry.ts";

/** One poll, or one stream of pushes. Its states are newer than everything known when it was requested. */
export interface Source {
  /** The number of changes known then, or at its own last change. */
  since: number;
}

/**
 * `updated`: the state was stored; `same`: it was known; `stale`: it is older than the known one; `unclear`: it may
 * be older or newer, and another poll decides.
 */
export type Verdict = "updated" | "same" | "stale" | "unclear";

/**
 * The newest known state of one task, from polls and pushes that can overtake each other. An end is final. If the
 * order of two states is unclear from their sources, the one with the later `lastUpdatedAt` counts.
 *
 * ```ts
 * const poll = state.source();
 * const verdict = state.take(await ask(), poll, clock.elapsed());
 * ```
 */
export class TaskState {
  #task: RemoteTask | undefined;
  #contactAt = 0;
  #changes = 0;

  get task(): RemoteTask | undefined {
    return this.#task;
  }

  /** When the server last reported the task, by the monotonic clock. */
  get contactAt(): number {
    return this.#contactAt;
  }

  get hasEnded(): boolean {
    return this.#task !== undefined && hasEnded(this.#task);
  }

  /** Call this before the request. */
  source(): Source {
    return { since: this.#changes };
  }

  take(task: RemoteTask, source: Source, now: number): Verdict {
    const known = this.#task;
    const isSame = known !== undefined && sameJson(task, known);
    if (known !== undefined && !isSame) {
      if (hasEnded(known)) return "stale";
      const isLater = source.since === this.#changes || hasEnded(task);
      if (!isLater) {
        const lead = Date.parse(task.lastUpdatedAt) - Date.parse(known.lastUpdatedAt);
        if (lead < 0) return "stale";
        if (!(lead > 0)) return "unclear";
      }
    }
    this.#contactAt = now;
    if (isSame) return "same";
    this.#task = task;
    source.since = ++this.#changes;
    return "updated";
  }
}

/** What polling needs of the client. */
export interface PollServices {
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly events: ClientEvents;
  readonly limit: ClientPollLimit;
  readonly listenStreams: ListenStreams;
}

/** The task that is polled. */
export interface PolledTask {
  readonly taskId: string;
  readonly limit: TaskPollLimit;
  readonly state: TaskState;
  /** The wait that polls are made for, if it is traced. */
  readonly span: () => ClientWaitSpan | undefined;
  /** Whether the server is known to have, or to have had, the task. One that only a caller names may be none of this server's. */
  readonly isKnown: () => boolean;
  /** Called when a poll failed, and with null when the server answers again. */
  readonly onTrouble: (trouble: Trouble | null) => void;
  /** Called with each polled or pushed state. Throwing at a polled one ends the polling. */
  readonly onState: (task: RemoteTask, source: Source, from: "poll" | "push") => Verdict;
  /** Called with the pause that the server asks for, in milliseconds. */
  readonly onRetryAfter: (ms: number) => void;
  /** Called if the server does not know the task, which ends the polling. */
  readonly onUnknown: (reply: Reply<unknown>) => void;
}

/** After this many answers in a row that break the protocol the wait fails: the server will not stop sending them. */
const maxViolations = 3;

type Updates =
  /** The server pushes the task's changes, so that polls are only the fallback. */
  | { readonly kind: "pushed" }
  /** Polls are spread from `since` on, when pushes stopped: a broken stream makes many tasks due at once. */
  | { readonly kind: "polled"; readonly since: number };

/**
 * Polls one task, through restarts of the server: at the server's interval, and seldom while its changes are
 * pushed.
 */
export class PollLoop {
  readonly #task: PolledTask;
  readonly #services: PollServices;
  #sleeping: AbortController | undefined;
  #updates: Updates = { kind: "polled", since: -Infinity };
  #isDueNow = false;
  /** The last failure, until a poll succeeds. */
  #failed: { readonly at: number; readonly retryAt: number } | undefined;
  readonly #failures: Failures;

  constructor(task: PolledTask, services: PollServices) {
    this.#task = task;
    this.#services = services;
    this.#failures = new Failures(services.clock);
  }

  /** Resolves once the task has ended or is unknown. */
  async run(signal: AbortSignal): Promise<void> {
    const { taskId, limit, state, onState, onUnknown, isKnown, onTrouble } = this.#task;
    let isGone = false;
    const reschedule = (): void => this.#reschedule();
    limit.onChange = reschedule;
    const unsubscribe = this.#subscribe(signal);
    const unregister = this.#services.limit.register();
    try {
      for (let violations = 0; ;) {
        const polled = await this.#poll(signal);
        if (polled === undefined) return;
        const { reply, source } = polled;
        if (reply.kind === "value") {
          if (this.#failures.end()) {
            this.#services.events.emit({ type: "poll_recovered", taskId });
            onTrouble(null);
          }
          this.#failed = undefined;
          violations = 0;
          onState(reply.value, source, "poll");
          continue;
        }
        if (isUnknown(reply)) {
          isGone = true;
          return onUnknown(reply);
        }
        violations = isViolation(reply) ? violations + 1 : 0;
        const isOver =
          isFinal(reply) ||
          violations === maxViolations ||
          (reply.kind === "error" && !isTransient(reply.error) && !isKnown());
        if (isOver) throw replyError(reply, taskId);
        this.#scheduleRetry(reply);
      }
    } finally {
      unregister();
      unsubscribe(isGone || state.hasEnded);
    }
  }

  /** Receives what the server sends about the task without being asked, until the returned function is called. */
  #subscribe(signal: AbortSignal): Unsubscribe {
    const { taskId, state, onState } = this.#task;
    const { protocol, clock, listenStreams } = this.#services;
    const onTask = (task: RemoteTask, source: Source): void => {
      if (signal.aborted) return; // without a wait no questions are asked
      if (onState(task, source, "push") === "unclear") this.#pollNow();
      else this.#reschedule();
    };
    let stream = state.source();
    const unsubscribe = listenStreams.add(taskId, {
      onRequested: () => (stream = state.source()),
      onSubscribed: (isPushed) => {
        if (isPushed === (this.#updates.kind === "pushed")) return;
        this.#updates = isPushed ? { kind: "pushed" } : { kind: "polled", since: clock.elapsed() };
        this.#reschedule();
      },
      onTask: (task) => onTask(task, stream),
    });
    const reported = state.source();
    const observer = {
      onTask: (task: RemoteTask): void => onTask(task, reported),
      onPollNeeded: () => this.#pollNow(),
    };
    const stopObserving = protocol.observe?.(taskId, observer, state.task);
    return (ended) => {
      stopObserving?.();
      unsubscribe(ended);
    };
  }

  /** Polls now, or directly after the current poll. */
  #pollNow(): void {
    this.#isDueNow = true;
    this.#reschedule();
  }

  /** Computes again when the next poll is due. */
  #reschedule(): void {
    this.#sleeping?.abort(noLongerNeeded);
  }

  /** Polls once when it is due. Resolves with undefined if the task has ended. */
  async #poll(signal: AbortSignal): Promise<{ reply: Reply<RemoteTask>; source: Source } | undefined> {
    const { taskId, state, onRetryAfter, span } = this.#task;
    const { protocol, clock, limit } = this.#services;
    for (const random = clock.random(); ;) {
      await this.#untilDue(random, signal);
      if (state.hasEnded) return undefined;
      const release = await limit.acquire(signal);
      try {
        if (state.hasEnded) return undefined;
        if (this.#dueAt(random) > clock.elapsed()) continue; // a push has moved it
        this.#isDueNow = false;
        const source = state.source();
        const waiting = span();
        const polling = waiting?.run(() => protocol.get(taskId, signal)) ?? protocol.get(taskId, signal);
        const reply = await polling;
        // Ignores an answer that arrives together with the abort: its questions must not be asked.
        signal.throwIfAborted();
        const retryAfterMs = "retryAfterMs" in reply ? reply.retryAfterMs : undefined;
        if (retryAfterMs !== undefined) onRetryAfter(retryAfterMs);
        return state.hasEnded ? undefined : { reply, source };
      } finally {
        release();
      }
    }
  }

  async #untilDue(random: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#services;
    const { state } = this.#task;
    while (!state.hasEnded) {
      const left = this.#dueAt(random) - clock.elapsed();
      if (left <= 0) return;
      const sleeping = new AbortController();
      this.#sleeping = sleeping;
      try {
        await clock.sleep(left, AbortSignal.any([signal, sleeping.signal]));
      } catch (error) {
        signal.throwIfAborted();
        if (!sleeping.signal.aborted) throw error;
      }
    }
  }

  /**
   * The time of the next poll: the latest that the server, the callers, the client's limits, a failure or
   * Retry-After require.
   */
  #dueAt(random: number): number {
    const { state, limit } = this.#task;
    const { task } = state;
    const failed = this.#failed;
    if (failed !== undefined) {
      const notBefore = Math.max(failed.retryAt, failed.at + this.#delay(random), limit.notBefore);
      return Math.min(notBefore, this.#expiryTime());
    }
    if (task === undefined || this.#isDueNow) return limit.notBefore;
    const usual = state.contactAt + this.#delay(random);
    if (this.#updates.kind === "pushed") return Math.max(usual, limit.notBefore);
    const spread = this.#updates.since + pollInterval(task, this.#floorMs) * random;
    return Math.max(usual, spread, limit.notBefore);
  }

  /** Milliseconds between two polls without failures. */
  #delay(random: number): number {
    const { task } = this.#task.state;
    if (task === undefined) return this.#floorMs;
    if (this.#updates.kind === "pushed" && this.#failed === undefined)
      return fallbackDelay(task, Math.max(this.#floorMs, 4 * this.#services.limit.intervalMs), random);
    return pollDelay(task, this.#floorMs, random);
  }

  get #floorMs(): number {
    const { limit } = this.#services;
    return Math.max(limit.floorMs, this.#task.limit.requestedIntervalMs, limit.intervalMs);
  }

  /** Schedules the next try. Throws if the task's ttl has passed without contact. */
  #scheduleRetry(reply: Unanswered): void {
    const { taskId } = this.#task;
    const { clock, events } = this.#services;
    const now = clock.elapsed();
    // Ends this wait only: the server may have extended the ttl, which the next wait finds out.
    if (this.#expiryTime() <= now) {
      const message = "The task's time to live ended while the server could not be reached";
      const cause = reply.kind === "error" ? undefined : reply.cause;
      throw new TaskClientError("expired", message, { cause, taskId });
    }
    const failure = this.#failures.next(reply);
    this.#failed = { at: now, retryAt: now + failure.retryInMs };
    const trouble = { ...failure, retryInMs: this.#dueAt(clock.random()) - now };
    events.emit(pollFailed(taskId, trouble, reply));
    this.#task.onTrouble(trouble);
  }

  #expiryTime(): number {
    const { state } = this.#task;
    return state.task === undefined ? Infinity : expiryTime(state.task, state.contactAt);
  }
}
