import type { ClientClock } from "../clock.ts";
import { rpcCodeOf, type ClientEvents } from "../events/client-events.ts";
import type { Pace } from "./pace.ts";
import type { PollTraffic } from "./poll-traffic.ts";
import type { Reply } from "../reply/reply.ts";
import { replyError } from "../reply/reply-error.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import { endOfLife, pollDelay, pollInterval, safetyDelay, retryDelay } from "./pacing.ts";
import type { RemoteTask } from "./remote-task.ts";
import type { Source, TaskState } from "./task-state.ts";

interface PollLoopOptions {
  readonly taskId: string;
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly events: ClientEvents;
  readonly pollFloorMs: number;
  readonly pace: Pace;
  readonly traffic: PollTraffic;
  readonly state: TaskState;
  /** Takes what was polled; what it throws ends the polling. */
  readonly see: (task: RemoteTask, source: Source) => void;
  /** Told what the server asks to be left alone for, in milliseconds. */
  readonly rest: (retryAfterMs: number) => void;
  /** Told that the server does not know the task, which ends the polling. */
  readonly unknown: (reply: Reply<unknown>) => void;
}

/** How many internal errors in a row a server may answer a poll with before the wait is given up. */
const internalErrorsInARow = 10;

export function isUnknown(reply: Reply<unknown>): boolean {
  return reply.kind === "error" && reply.error.code === -32602;
}

/**
 * Polls one task, through restarts of the server: at the server's pace, and seldom while the task is listened to.
 */
export class PollLoop {
  readonly #options: PollLoopOptions;
  #nap: AbortController | undefined;
  #listened = false;
  /** When it was last listened to; a broken stream makes many tasks due at once. */
  #unheardAt = -Infinity;
  #hurries = false;
  /** The last failure, while nothing but failures came. */
  #failed: { readonly failures: number; readonly at: number; readonly retryAt: number } | undefined;

  constructor(options: PollLoopOptions) {
    this.#options = options;
  }

  /** Whether pushes tell of the task, so that polling is only the safety net. */
  set listened(listened: boolean) {
    if (listened === this.#listened) return;
    this.#listened = listened;
    if (!listened) this.#unheardAt = this.#options.clock.elapsed();
    this.look();
  }

  /** Polls now, or at once after the poll that is under way. */
  hurry(): void {
    this.#hurries = true;
    this.look();
  }

  /** Looks again at when the next poll is due: what is known has changed. */
  look(): void {
    this.#nap?.abort();
  }

  /** Resolves once the task has ended or is unknown. */
  async run(signal: AbortSignal): Promise<void> {
    const { see, unknown, traffic, pace } = this.#options;
    const leave = traffic.enter();
    pace.onChange = () => this.look();
    try {
      for (let internalErrors = 0; ;) {
        const polled = await this.#poll(signal);
        if (polled === undefined) return;
        const { reply, source } = polled;
        if (reply.kind === "value") {
          this.#failed = undefined;
          internalErrors = 0;
          see(reply.value, source);
          continue;
        }
        if (isUnknown(reply)) return unknown(reply);
        const isInternal = reply.kind === "error" && reply.error.code === -32603;
        if (reply.kind !== "lost" && !(isInternal && ++internalErrors < internalErrorsInARow)) {
          throw replyError(reply, this.#options.taskId);
        }
        this.#fails(reply);
      }
    } finally {
      leave();
    }
  }

  /** One poll, when it is due; nothing if the task has ended before, or meanwhile. */
  async #poll(signal: AbortSignal): Promise<{ reply: Reply<RemoteTask>; source: Source } | undefined> {
    const { taskId, protocol, clock, state, traffic, rest } = this.#options;
    for (const random = clock.random(); ;) {
      await this.#untilDue(random, signal);
      if (state.hasEnded) return undefined;
      const done = await traffic.turn(signal);
      try {
        if (state.hasEnded) return undefined;
        if (this.#dueAt(random) > clock.elapsed()) continue; // a push has told meanwhile
        this.#hurries = false;
        const source = state.source();
        const reply = await protocol.get(taskId, signal);
        // An answer that arrives together with the end of the run asks nobody anything.
        signal.throwIfAborted();
        const retryAfterMs = "retryAfterMs" in reply ? reply.retryAfterMs : undefined;
        if (retryAfterMs !== undefined) rest(retryAfterMs);
        return state.hasEnded ? undefined : { reply, source };
      } finally {
        done();
      }
    }
  }

  async #untilDue(random: number, signal: AbortSignal): Promise<void> {
    const { clock, state } = this.#options;
    while (!state.hasEnded) {
      const left = this.#dueAt(random) - clock.elapsed();
      if (left <= 0) return;
      const nap = new AbortController();
      this.#nap = nap;
      try {
        await clock.sleep(left, AbortSignal.any([signal, nap.signal]));
      } catch (error) {
        signal.throwIfAborted();
        if (!nap.signal.aborted) throw error;
      }
    }
  }

  /** The latest of all that asks for patience: the server, those who wait, the other polls, a failure, Retry-After. */
  #dueAt(random: number): number {
    const { state, pace } = this.#options;
    const { task } = state;
    const failed = this.#failed;
    if (failed !== undefined) {
      const patient = Math.max(failed.retryAt, failed.at + this.#delay(random), pace.notBefore);
      return Math.min(patient, this.#endOfLife());
    }
    if (task === undefined || this.#hurries) return pace.notBefore;
    const usual = state.contactAt + this.#delay(random);
    if (this.#listened) return Math.max(usual, pace.notBefore);
    return Math.max(usual, this.#unheardAt + pollInterval(task, this.#floorMs) * random, pace.notBefore);
  }

  /** Milliseconds from one poll to the next while all goes well. */
  #delay(random: number): number {
    const { state, traffic } = this.#options;
    const { task } = state;
    if (task === undefined) return this.#floorMs;
    // What is listened to is polled as seldom as it may be.
    if (this.#listened && this.#failed === undefined)
      return safetyDelay(task, Math.max(this.#floorMs, 4 * traffic.intervalMs), random);
    return pollDelay(task, this.#floorMs, random);
  }

  get #floorMs(): number {
    const { pollFloorMs, pace, traffic } = this.#options;
    return Math.max(pollFloorMs, pace.callersMs, traffic.intervalMs);
  }

  /** Arranges the next try, unless the task has outlived its ttl without contact. */
  #fails(reply: Reply<unknown>): void {
    const { clock, taskId, events } = this.#options;
    const lost = reply.kind === "lost" ? reply : undefined;
    const now = clock.elapsed();
    // Only this wait ends: the server may have extended the task, which the next one finds out.
    if (this.#endOfLife() <= now) {
      const message = "The task outlived its ttl while the server could not be reached";
      throw new TaskClientError("expired", message, { cause: lost?.cause, taskId });
    }
    const failures = (this.#failed?.failures ?? 0) + 1;
    const random = clock.random();
    this.#failed = { failures, at: now, retryAt: now + retryDelay(failures, random) };
    const retryInMs = this.#dueAt(random) - now;
    const error = reply.kind === "error" ? reply.error : lost?.error;
    events.tell({ type: "poll_failed", taskId, failures, ...rpcCodeOf(error), retryInMs });
  }

  #endOfLife(): number {
    const { state } = this.#options;
    return state.task === undefined ? Infinity : endOfLife(state.task, state.contactAt);
  }
}
