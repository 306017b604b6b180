import type { ClientClock } from "../clock.ts";
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
  readonly pollFloorMs: number;
  readonly state: TaskState;
  /** Takes what was polled; what it throws ends the polling. */
  readonly see: (task: RemoteTask, source: Source) => void;
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

  constructor(options: PollLoopOptions) {
    this.#options = options;
  }

  /** Whether pushes tell of the task, so that polling is only the safety net. */
  set listened(listened: boolean) {
    if (listened === this.#listened) return;
    this.#listened = listened;
    if (!listened) this.#unheardAt = this.#options.clock.now();
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
    const { taskId, protocol, clock, state, see, unknown } = this.#options;
    let internalErrors = 0;
    for (let failures = 0; ;) {
      if (failures === 0) await this.#untilDue(signal);
      if (state.hasEnded) return;
      this.#hurries = false;
      const source = state.source();
      const reply = await protocol.get(taskId, signal);
      // An answer that arrives together with the end of the run asks nobody anything.
      signal.throwIfAborted();
      if (state.hasEnded) return;
      if (reply.kind === "value") {
        failures = 0;
        internalErrors = 0;
        see(reply.value, source);
        continue;
      }
      if (isUnknown(reply)) return unknown(reply);
      const isInternal = reply.kind === "error" && reply.error.code === -32603;
      if (reply.kind !== "lost" && !(isInternal && ++internalErrors < internalErrorsInARow)) {
        throw replyError(reply, taskId);
      }
      const wait = this.#waitAfter(reply, ++failures);
      // Only this wait ends: the server may have extended the task, which the next one finds out.
      if (wait === undefined) throw this.#expired(reply);
      await clock.sleep(wait, signal);
    }
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    const { clock, state } = this.#options;
    const random = clock.random();
    while (state.task !== undefined && !state.hasEnded && !this.#hurries) {
      const left = this.#dueAt(state.task, random) - clock.now();
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

  #dueAt(task: RemoteTask, random: number): number {
    const { pollFloorMs, state } = this.#options;
    if (this.#listened) return state.contactAt + safetyDelay(task, pollFloorMs, random);
    const usual = state.contactAt + pollDelay(task, pollFloorMs, random);
    return Math.max(usual, this.#unheardAt + pollInterval(task, pollFloorMs) * random);
  }

  /** Milliseconds to wait before the next try; `undefined` once the task has outlived its ttl without contact. */
  #waitAfter(reply: Reply<unknown>, failures: number): number | undefined {
    const { clock, state } = this.#options;
    const left = state.task === undefined ? Infinity : endOfLife(state.task, state.contactAt) - clock.now();
    if (left <= 0) return undefined;
    const retryAfterMs = reply.kind === "lost" ? reply.retryAfterMs : undefined;
    return Math.min(retryDelay(failures, clock.random(), retryAfterMs), left);
  }

  #expired(reply: Reply<unknown>): TaskClientError {
    const cause = reply.kind === "lost" ? reply.cause : undefined;
    const message = "The task outlived its ttl while the server could not be reached";
    return new TaskClientError("expired", message, { cause, taskId: this.#options.taskId });
  }
}
