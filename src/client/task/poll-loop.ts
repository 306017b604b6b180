import type { ClientClock } from "../clock.ts";
import type { ClientWaitSpan } from "../client-telemetry.ts";
import { rpcCodeOf, type ClientEvents } from "../client-events.ts";
import type { TaskPollLimit, ClientPollLimit } from "./poll-limits.ts";
import { type Reply, replyError } from "../reply/reply.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import { expiryTime, pollDelay, pollInterval, fallbackDelay, retryDelay } from "./poll-delays.ts";
import type { RemoteTask } from "./remote-task.ts";
import type { Source, TaskState } from "./task-state.ts";

interface PollLoopOptions {
  readonly taskId: string;
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly events: ClientEvents;
  readonly pollFloorMs: number;
  readonly taskLimit: TaskPollLimit;
  readonly clientLimit: ClientPollLimit;
  readonly state: TaskState;
  /** The wait that polls are made for, if it is traced. */
  readonly span: () => ClientWaitSpan | undefined;
  /** Called with each polled state. Throwing ends the polling. */
  readonly onPolled: (task: RemoteTask, source: Source) => void;
  /** Called with the pause that the server asks for, in milliseconds. */
  readonly pauseFor: (retryAfterMs: number) => void;
  /** Called if the server does not know the task, which ends the polling. */
  readonly onUnknown: (reply: Reply<unknown>) => void;
}

/** After this many internal errors in a row the wait fails. */
const maxInternalErrors = 10;

export function isUnknown(reply: Reply<unknown>): boolean {
  return reply.kind === "error" && reply.error.code === -32602;
}

/**
 * Polls one task, through restarts of the server: at the server's interval, and seldom while its changes are
 * pushed.
 */
export class PollLoop {
  readonly #options: PollLoopOptions;
  #sleeping: AbortController | undefined;
  #hasPushes = false;
  /** When the pushes stopped: polls are spread from then on, since a broken stream makes many tasks due at once. */
  #unsubscribedAt = -Infinity;
  #isDueNow = false;
  /** The last failure, until a poll succeeds. */
  #failed: { readonly failures: number; readonly at: number; readonly retryAt: number } | undefined;

  constructor(options: PollLoopOptions) {
    this.#options = options;
  }

  /** Whether the server pushes the task's changes, so that polls are only the fallback. */
  set hasPushes(hasPushes: boolean) {
    if (hasPushes === this.#hasPushes) return;
    this.#hasPushes = hasPushes;
    if (!hasPushes) this.#unsubscribedAt = this.#options.clock.elapsed();
    this.reschedule();
  }

  /** Polls now, or directly after the current poll. */
  pollNow(): void {
    this.#isDueNow = true;
    this.reschedule();
  }

  /** Computes again when the next poll is due. */
  reschedule(): void {
    this.#sleeping?.abort();
  }

  /** Resolves once the task has ended or is unknown. */
  async run(signal: AbortSignal): Promise<void> {
    const { onPolled, onUnknown, clientLimit, taskLimit } = this.#options;
    const unregister = clientLimit.register();
    taskLimit.onChange = () => this.reschedule();
    try {
      for (let internalErrors = 0; ;) {
        const polled = await this.#poll(signal);
        if (polled === undefined) return;
        const { reply, source } = polled;
        if (reply.kind === "value") {
          if (this.#failed !== undefined) {
            const { events, taskId } = this.#options;
            events.emit({ type: "poll_recovered", taskId });
          }
          this.#failed = undefined;
          internalErrors = 0;
          onPolled(reply.value, source);
          continue;
        }
        if (isUnknown(reply)) return onUnknown(reply);
        const isInternal = reply.kind === "error" && reply.error.code === -32603;
        if (reply.kind !== "lost" && !(isInternal && ++internalErrors < maxInternalErrors)) {
          throw replyError(reply, this.#options.taskId);
        }
        this.#scheduleRetry(reply);
      }
    } finally {
      unregister();
    }
  }

  /** Polls once when it is due. Resolves with undefined if the task has ended. */
  async #poll(signal: AbortSignal): Promise<{ reply: Reply<RemoteTask>; source: Source } | undefined> {
    const { taskId, protocol, clock, state, clientLimit, pauseFor, span } = this.#options;
    for (const random = clock.random(); ;) {
      await this.#untilDue(random, signal);
      if (state.hasEnded) return undefined;
      const release = await clientLimit.acquire(signal);
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
        if (retryAfterMs !== undefined) pauseFor(retryAfterMs);
        return state.hasEnded ? undefined : { reply, source };
      } finally {
        release();
      }
    }
  }

  async #untilDue(random: number, signal: AbortSignal): Promise<void> {
    const { clock, state } = this.#options;
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
    const { state, taskLimit } = this.#options;
    const { task } = state;
    const failed = this.#failed;
    if (failed !== undefined) {
      const notBefore = Math.max(failed.retryAt, failed.at + this.#delay(random), taskLimit.notBefore);
      return Math.min(notBefore, this.#expiryTime());
    }
    if (task === undefined || this.#isDueNow) return taskLimit.notBefore;
    const usual = state.contactAt + this.#delay(random);
    if (this.#hasPushes) return Math.max(usual, taskLimit.notBefore);
    return Math.max(
      usual,
      this.#unsubscribedAt + pollInterval(task, this.#floorMs) * random,
      taskLimit.notBefore,
    );
  }

  /** Milliseconds between two polls without failures. */
  #delay(random: number): number {
    const { state, clientLimit } = this.#options;
    const { task } = state;
    if (task === undefined) return this.#floorMs;
    if (this.#hasPushes && this.#failed === undefined)
      return fallbackDelay(task, Math.max(this.#floorMs, 4 * clientLimit.intervalMs), random);
    return pollDelay(task, this.#floorMs, random);
  }

  get #floorMs(): number {
    const { pollFloorMs, taskLimit, clientLimit } = this.#options;
    return Math.max(pollFloorMs, taskLimit.requestedIntervalMs, clientLimit.intervalMs);
  }

  /** Schedules the next try. Throws if the task's ttl has passed without contact. */
  #scheduleRetry(reply: Reply<unknown>): void {
    const { clock, taskId, events } = this.#options;
    const lost = reply.kind === "lost" ? reply : undefined;
    const now = clock.elapsed();
    // Ends this wait only: the server may have extended the ttl, which the next wait finds out.
    if (this.#expiryTime() <= now) {
      const message = "The task outlived its ttl while the server could not be reached";
      throw new TaskClientError("expired", message, { cause: lost?.cause, taskId });
    }
    const failures = (this.#failed?.failures ?? 0) + 1;
    const random = clock.random();
    this.#failed = { failures, at: now, retryAt: now + retryDelay(failures, random) };
    const retryInMs = this.#dueAt(random) - now;
    const error = reply.kind === "error" ? reply.error : lost?.error;
    events.emit({ type: "poll_failed", taskId, failures, ...rpcCodeOf(error), retryInMs });
  }

  #expiryTime(): number {
    const { state } = this.#options;
    return state.task === undefined ? Infinity : expiryTime(state.task, state.contactAt);
  }
}
