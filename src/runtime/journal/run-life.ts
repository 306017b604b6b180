import { HoldfastError } from "../../task/fault.ts";
import type { Origin, TaskRecord } from "../../task/record.ts";
import type { PrincipalSlots } from "../dispatch/slots.ts";
import type { OwnContext } from "../own-context.ts";
import type { RuntimeSettings } from "../options.ts";
import type { Services } from "../services.ts";
import type { RunTrace } from "../telemetry/telemetry.ts";
import type { Timers } from "../timers.ts";
import { giveToHandler } from "../unhandled-rejections.ts";
import { runVersions, type RunVersions } from "../tool/tool-config.ts";
import type { Tool } from "../tool/tool.ts";
import type { TaskLines } from "./task-lines.ts";
import type { WorkLimit } from "./slot-holder.ts";
import type { End } from "./journal.ts";
import { type Asked, Scheduler } from "./scheduler.ts";

/** What an attempt tells whoever started it. */
export type AttemptEvent =
  /** The handler rests, and its task can be parked; or it has to continue. */
  | { readonly type: "rests" | "goes on" }
  /** Something that the handler needs cannot be read, or the store refuses for good what it wrote: its task is to end. */
  | { readonly type: "fault"; readonly problem: HoldfastError }
  /** The end of its task's life moves (epoch ms). */
  | { readonly type: "due"; readonly at: number | null }
  /** The handler's call of a tool is about to create a task, which ends by then (epoch ms). */
  | { readonly type: "calls"; readonly child: string; readonly endsBy: number | null }
  /**
   * The task went back to the queue: this code cannot continue it, a round of a loop has ended, or the handler threw and runs again. No task:
   * others had ended or taken it.
   */
  | {
      readonly type: "returned";
      readonly why: "blocked" | "next round" | "retry";
      readonly task: TaskRecord | undefined;
    }
  /** The results of the run are stored, or nothing more can be. */
  | { readonly type: "ended" };

type ArtifactLimits = Pick<RuntimeSettings, "maxArtifactBytes" | "maxArtifactsPerTask">;

export interface RunSetup {
  readonly taskId: string;
  /** What the idempotency keys of its steps begin with. */
  readonly stepKeys: string;
  readonly wireId: string;
  readonly attempt: number;
  /** For code that asks which version the task began with. */
  readonly versions: RunVersions;
  readonly maxBodyBytes: number;
  readonly limits: ArtifactLimits;
  /** Whether a later attempt may run whatever this one has begun. */
  readonly runsAgain: boolean;
  readonly inOwnContext: OwnContext;
  /** The log and the output of its task, or of the run itself without a task. */
  readonly lines: TaskLines;
  /** The slots from which it has one; left out if it needs none. */
  readonly slots?: PrincipalSlots;
  /** How long its handler may work without a break; left out: no limit. */
  readonly limit?: WorkLimit | undefined;
  /** Left out if nothing is traced. */
  readonly trace?: RunTrace | undefined;
  /** Creates a task for the run before something is journalled; left out for one that stays without. */
  readonly promote?: () => Promise<unknown>;
}

/** What a run has from its task, its tool and its runtime; without `timers` it may work for as long as it likes. */
export function ofTask(
  { id, wireId, attempt, toolVersion }: Pick<TaskRecord, "id" | "wireId" | "attempt" | "toolVersion">,
  { stepKeys = id }: Pick<Origin, "stepKeys">,
  tool: Tool,
  { inOwnContext, options }: Pick<Services, "inOwnContext" | "options">,
  timers?: Timers,
): Omit<RunSetup, "lines" | "slots" | "trace" | "promote"> {
  const versions = runVersions(tool, { toolVersion });
  const { maxBodyBytes } = options;
  const { timeoutMs: ms } = tool;
  const limit = timers === undefined || ms === undefined ? undefined : { ms, timers };
  const ofTool = { versions, maxBodyBytes, limits: options, limit, runsAgain: tool.onCrash === "resume" };
  return { taskId: id, stepKeys, wireId, attempt, ...ofTool, inOwnContext };
}

/** The state of a run, what its handler may see and do next, and its signals. */
export class RunLife extends Scheduler<End> {
  readonly #inOwnContext: OwnContext;
  readonly #abort = new AbortController();
  readonly #over = new AbortController();
  readonly #gone = Promise.withResolvers<void>();
  /** Timers to cancel when the handler is dropped from memory, and what to call once it has returned. */
  #timers: Map<() => void, (reason: Error) => void> | undefined;
  #cancelRequested = false;
  #gaveResult = false;

  constructor(inOwnContext: OwnContext) {
    super();
    this.#inOwnContext = inOwnContext;
  }

  /** Whether the handler has returned or thrown, so that it learns of nothing any more. */
  get hasReturned(): boolean {
    return this.state === "ended" || (this.state === "fenced" && !this.signal.aborted);
  }

  /** Whether it has returned its result, which shows nothing of what it has not waited for. */
  get gaveResult(): boolean {
    return this.#gaveResult && !this.signal.aborted;
  }

  /** Aborts when the handler should end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Aborts when nothing of the run can be stored any more; a cancel request does not abort it. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Resolves when a stop need no longer wait for the run. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** True once the requestor asked to cancel: a handler that throws from then on ends as cancelled. */
  get cancelRequested(): boolean {
    return this.#cancelRequested;
  }

  goesOn(asked: Asked): boolean {
    return this.verdict(asked) === "goes on";
  }

  /** Whether a call, or an end, stops here for good: the next run comes to it again. */
  stops(asked: Asked): boolean {
    return this.verdict(asked) === "stops";
  }

  /** Throws if the handler should end, or what is asked about is over for it. */
  assertGoesOn(asked: Asked): void {
    this.signal.throwIfAborted();
    const refusal = this.refusal(asked);
    if (refusal !== undefined) throw refusal;
  }

  /** Why what is asked about is over for the handler; undefined if it is not. */
  refusal(asked: Asked): Error | undefined {
    if (this.verdict(asked) !== "rejects") return undefined;
    if (this.hasReturned) {
      const problem = "The handler of this task has returned. Await in it what it starts: the rest is lost.";
      return new HoldfastError("fenced", problem);
    }
    return this.over.reason as Error;
  }

  /** Tells the handler that the requestor wants it to end; its context calls reject from now on. */
  requestCancel(): void {
    this.#cancelRequested = true;
    this.#tellToEnd(new DOMException("The task was cancelled.", "AbortError"));
  }

  /** The handler should end with its attempt, unless it has ended, or its attempt counts for nothing. */
  endAttempt(reason: unknown): void {
    if (this.goesOn("hear")) this.#tellToEnd(reason);
  }

  /** Nothing of the run can be stored any more. Tells its handler, unless it has ended. */
  fence(reason: unknown): void {
    const was = this.state;
    if (!this.apply("fence")) return;
    this.#over.abort(reason);
    if (was !== "ended") this.#tellToEnd(reason);
    if (was === "doomed") this.setGone(); // nobody else waits for its handler
  }

  /**
   * Keeps a function that cancels a timer, which would hold the handler in memory; returns a function that cancels or forgets the timer. What
   * waits for it is rejected once the handler has returned.
   */
  holdTimer(cancelTimer: () => void, reject: (reason: Error) => void): () => void {
    this.#timers ??= new Map();
    this.#timers.set(cancelTimer, reject);
    return () => {
      this.#timers?.delete(cancelTimer);
      cancelTimer();
    };
  }

  /** Nothing is left that would wake the handler, so that it can be freed from memory. */
  drop(): void {
    for (const cancelTimer of this.#timers?.keys() ?? []) cancelTimer();
    this.#timers = undefined;
    this.setGone();
  }

  /** The handler has returned or thrown: what its other branches wait for comes to nothing. */
  end(threw: boolean): void {
    this.#gaveResult = this.apply("end") && !threw;
    if (this.#timers === undefined || this.#timers.size === 0) return; // an error is costly
    const refusal = this.refusal("try");
    if (refusal !== undefined) for (const reject of this.#timers.values()) reject(refusal);
  }

  /** Tells a handler whose task was released that the server stops. */
  stop(): void {
    const stopping = new HoldfastError("stopping", "The server is stopping.");
    this.#over.abort(stopping);
    this.#tellToEnd(stopping);
  }

  setGone(): void {
    this.#gone.resolve();
  }

  /** The author's listeners run before this returns. */
  #tellToEnd(reason: unknown): void {
    giveToHandler(reason);
    this.#inOwnContext(() => this.#abort.abort(reason));
  }
}

/**
 * Where the code of a handler stops when its task was released. Each call makes a new promise: a shared one would keep every dropped
 * handler in memory.
 */
export function forEver(): Promise<never> {
  return new Promise(() => undefined);
}
