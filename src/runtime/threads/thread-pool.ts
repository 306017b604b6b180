/**
 * The threads of a process, on which steps run that compute.
 * - A thread runs one function at a time, and is used again. One that was ended, or has crashed, is replaced when the next function needs it.
 * - Functions wait for a thread in turns between principals.
 * - A function that was told to end is over when its thread says so, or is gone. So nothing that comes after it runs beside it.
 * - No thread keeps the process alive, and none writes to its standard output, which may be a connection.
 */

import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { HoldfastError } from "../../task/fault.ts";
import { systemClock } from "../clock.ts";
import { Slots } from "../dispatch/slots.ts";
import { inThisContext, ownContext } from "../own-context.ts";
import { encodeError } from "../stored-values.ts";
import { describeThrown } from "../tool/tool-errors.ts";
import { whenAborted } from "../wait-for.ts";
import type { FromThread, ReportMethod, ThreadEnd, ThreadJob, ToThread } from "./worker-options.ts";

export interface ThreadPoolSetup {
  /** How many there are at most; left out: one less than the machine has processors, and at least one. */
  readonly threads?: number | undefined;
  /** Of the heap of each; left out: as Node sets it. */
  readonly maxHeapBytes?: number | undefined;
  /** Receives crashes of threads that had nothing to do. */
  readonly onError: (error: unknown) => void;
}

/** A function to run, for whom, and what it has on this side. */
export interface ThreadWork {
  readonly job: ThreadJob;
  readonly principal: string | null;
  /** Aborts when the function should end. */
  readonly signal: AbortSignal;
  /** How long it has to end then, before its thread is ended. */
  readonly killAfterMs: number;
  /** It has a thread. */
  readonly onBegin: () => void;
  readonly report: (method: ReportMethod, args: readonly unknown[]) => unknown;
}

export class ThreadPool {
  readonly #setup: ThreadPoolSetup;
  readonly #slots: Slots;
  readonly #inOwnContext = ownContext();
  readonly #threads = new Set<Thread>();
  readonly #idle: Thread[] = [];

  constructor(setup: ThreadPoolSetup) {
    this.#setup = setup;
    this.#slots = new Slots(setup.threads ?? Math.max(1, availableParallelism() - 1));
  }

  /** Resolves with how the function ended. Rejects with the signal's reason, and with `worker_crashed`. */
  async run(work: ThreadWork): Promise<ThreadEnd> {
    const { signal, principal, onBegin } = work;
    const slots = this.#slots.of(principal);
    await takeUnlessAborted(slots, signal);
    try {
      const thread = this.#idle.pop() ?? this.#inOwnContext(() => this.#start());
      onBegin();
      let isSpent = false;
      try {
        const end = await thread.run(work);
        isSpent = end.isSpent === true;
        return end;
      } finally {
        if (thread.isAlive && !isSpent) this.#idle.push(thread);
        else await thread.end();
      }
    } finally {
      slots.give();
    }
  }

  /** Ends all threads, whatever they do. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#threads, (thread) => thread.end()));
  }

  #start(): Thread {
    const { maxHeapBytes } = this.#setup;
    const thread = new Thread(maxHeapBytes, (error) => {
      this.#threads.delete(thread);
      const place = this.#idle.indexOf(thread);
      if (place >= 0) this.#idle.splice(place, 1);
      if (place >= 0 && error !== undefined) this.#setup.onError(error);
    });
    this.#threads.add(thread);
    return thread;
  }
}

/** Resolves with a slot. Rejects with the signal's reason if it aborts first; then the slot goes to the next. */
async function takeUnlessAborted(slots: ReturnType<Slots["of"]>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const stopListening = whenAborted(signal, () => aborted.reject(signal.reason as Error));
  const taken = slots.takeToResume();
  try {
    await Promise.race([taken, aborted.promise]);
  } catch (error) {
    void taken.then(() => slots.give());
    throw error;
  } finally {
    stopListening();
  }
}

/** What the server does with the function that a thread runs. */
interface Running {
  readonly ended: (end: ThreadEnd) => void;
  readonly crashed: (error: Error) => void;
  readonly report: (method: ReportMethod, args: readonly unknown[], call: number) => void;
}

class Thread {
  readonly #worker: Worker;
  readonly #gone = Promise.withResolvers<void>();
  #running: Running | undefined;
  #error: Error | undefined;
  #isEnded = false;

  /** `onGone` gets its crash, unless it was ended from here. */
  constructor(maxHeapBytes: number | undefined, onGone: (crash: Error | undefined) => void) {
    this.#worker = new Worker(threadFile(), {
      name: "holdfast",
      stdout: true,
      ...(maxHeapBytes !== undefined && {
        resourceLimits: { maxOldGenerationSizeMb: maxHeapBytes / 1024 ** 2 },
      }),
    });
    this.#worker.unref();
    this.#worker.stdout.pipe(process.stderr, { end: false });
    this.#worker.on("message", (message: FromThread) => {
      if (message.type === "ended") this.#running?.ended(message.end);
      else this.#running?.report(message.method, message.args, message.call);
    });
    this.#worker.on(
      "error",
      (error) => (this.#error = error instanceof Error ? error : new Error(String(error))),
    );
    this.#worker.on("exit", (code) => {
      this.#worker.stdout.unpipe(process.stderr);
      const crash = this.#isEnded ? undefined : crashOf(code, this.#error);
      onGone(crash);
      this.#running?.crashed(crash ?? new HoldfastError("stopping", "The server is stopping."));
      this.#gone.resolve();
    });
  }

  get isAlive(): boolean {
    return !this.#isEnded && this.#worker.threadId > 0;
  }

  /** Resolves when it is gone. */
  async end(): Promise<void> {
    this.#isEnded = true;
    void this.#worker.terminate();
    await this.#gone.promise;
  }

  async run({ job, signal, killAfterMs, report }: ThreadWork): Promise<ThreadEnd> {
    const over = Promise.withResolvers<ThreadEnd>();
    this.#running = {
      ended: over.resolve,
      crashed: over.reject,
      // Messages arrive in the context of the thread, and reports belong to the step.
      report: inThisContext((method, args, call) => {
        if (!signal.aborted) void this.#answer(call, report(method, args));
      }),
    };
    let cancelTimer = (): void => undefined;
    const stopListening = whenAborted(signal, () => {
      this.#send({ type: "abort", reason: encodeError(signal.reason, maxReasonBytes) });
      cancelTimer = systemClock.after(killAfterMs, () => void this.end());
    });
    try {
      this.#send({ type: "run", job });
      const end = await over.promise;
      signal.throwIfAborted();
      return end;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      this.#running = undefined;
      stopListening();
      cancelTimer();
    }
  }

  async #answer(call: number, reported: unknown): Promise<void> {
    try {
      await reported;
      this.#send({ type: "answer", call });
    } catch (error) {
      this.#send({ type: "answer", call, error: encodeError(error, maxReasonBytes) });
    }
  }

  #send(message: ToThread): void {
    this.#worker.postMessage(message);
  }
}

const maxReasonBytes = 4_096;

function crashOf(code: number, error: Error | undefined): HoldfastError {
  const how = error === undefined ? `it ended itself with exit code ${code}` : describeThrown(error);
  return new HoldfastError("worker_crashed", `The thread has crashed: ${how}.`, { cause: error });
}

/** The thread runs the same kind of file as this one: the source under Node's own TypeScript, otherwise the build. */
function threadFile(): URL {
  return import.meta.url.endsWith(".ts")
    ? new URL("./worker-thread.ts", import.meta.url)
    : new URL("./worker-thread.js", import.meta.url);
}
