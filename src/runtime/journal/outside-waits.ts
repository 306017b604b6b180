import type { ListedEntry } from "../../store/store.ts";
import type { HoldfastError } from "../../task/fault.ts";
import type { InputMethod, JournalEnd, WaitReason } from "../../task/journal.ts";
import { type StoreClock, deadlineAfter } from "../clock.ts";
import type { Timers } from "../timers.ts";
import { encodeError } from "../stored-values.ts";
import type { HeldTask } from "./held-task.ts";
import type { HeldCommand, OpeningCommandName } from "./piece-writer.ts";
import type { LifeLimit } from "./run-life.ts";
import type { Run } from "./run.ts";

/** Something that a handler waits for and others end: a question, a call of another tool, an event. */
export interface OutsideWait<N extends OpeningCommandName> {
  /** As the run has claimed it. */
  readonly key: string;
  /** An earlier attempt's entry with the same key and content that has not ended. */
  readonly entry: ListedEntry | undefined;
  readonly command: N;
  /** The method of a question. */
  readonly method?: InputMethod;
  /** Runs before a new one begins; if it rejects, the wait does not begin. */
  readonly prepare?: () => Promise<void>;
  /** The command that begins it, given its timeout (epoch ms; null: none). */
  readonly begin: (deadlineAt: number | null) => HeldCommand<N>;
  /** The text that needs room in the journal, until it ends. */
  readonly text?: string;
  /** How long it lasts at most, in milliseconds; left out: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Its name in the error if its timeout would be after the task's end, which is a mistake; left out: it then ends with the task. */
  readonly mustEndInTime?: string | undefined;
  /** The error when it times out. */
  readonly late?: () => HoldfastError;
}

const reasons: Readonly<Record<OpeningCommandName, WaitReason>> = {
  open_input: "question",
  call_tool: "call",
  wait_event: "event",
};

export interface OutsideWaitsSetup {
  readonly run: Run;
  readonly task: HeldTask;
  readonly limit: LifeLimit;
  readonly clock: StoreClock;
  readonly timers: Timers;
}

/** Writes entries that others end into a run's journal, and waits for their ends. */
export class OutsideWaits {
  readonly #setup: OutsideWaitsSetup;

  constructor(setup: OutsideWaitsSetup) {
    this.#setup = setup;
  }

  /** Settles as `decode` does with its end, when it is its turn. */
  async until<N extends OpeningCommandName, T>(
    wait: OutsideWait<N>,
    decode: (end: JournalEnd) => T,
  ): Promise<T> {
    const { run, task, limit, clock } = this.#setup;
    const { key, entry, prepare, text, timeoutMs, mustEndInTime } = wait;
    const isNew = entry === undefined;
    // One that is in the journal has its place among the ends from the call on, as in a replay that finds its end there.
    if (isNew || !run.continuesWait()) await run.beginWait(isNew, isNew ? prepare : undefined);
    const stored = entry?.deadlineAt;
    const deadlineAt =
      typeof stored === "number"
        ? clock.afterJumps(stored, entry?.begunAt ?? null)
        : timeoutMs === undefined
          ? null
          : deadlineAfter(clock.now(), timeoutMs);
    if (isNew && deadlineAt !== null && mustEndInTime !== undefined && !limit.reaches(deadlineAt))
      await limit.assertReaches(deadlineAt, mustEndInTime);
    if (isNew && text !== undefined) task.journal.addText(key, text);
    const end = run.whileWaiting(
      reasons[wait.command],
      () => this.#end(wait, deadlineAt),
      deadlineAt ?? undefined,
    );
    return decode(await this.#traced(wait, end));
  }

  /** A call has no span here: its task has its own. */
  #traced<N extends OpeningCommandName>(
    { key, entry, command, method }: OutsideWait<N>,
    end: Promise<JournalEnd>,
  ): Promise<JournalEnd> {
    const { run, clock } = this.#setup;
    if (run.setup.trace === undefined || command === "call_tool") return end;
    const kind = command === "open_input" ? "input" : "event";
    return run.setup.trace.waiting({ kind, key, method, begunAt: entry?.begunAt ?? clock.now() }, clock, end);
  }

  async #end<N extends OpeningCommandName>(
    { key, entry, command, begin, late }: OutsideWait<N>,
    deadlineAt: number | null,
  ): Promise<JournalEnd> {
    const { run, task, timers } = this.#setup;
    run.signal.throwIfAborted();
    const end = task.journal.awaitEnd(key);
    const onAbort = (): void => end.reject(run.signal.reason as Error);
    end.promise.catch(() => undefined); // the write below may reject first
    run.signal.addEventListener("abort", onAbort, { once: true });
    let cancelTimer = (): void => undefined;
    const giveUp = (error: HoldfastError): void =>
      void task.journal.closeWait(key, encodeError(error, run.setup.maxBodyBytes)).catch(end.reject);
    try {
      if (entry === undefined)
        await task.journal.opening(key, task.writeWithRest<N>(command, begin(deadlineAt)));
      if (deadlineAt !== null && late !== undefined)
        cancelTimer = run.life.holdTimer(
          timers.at(deadlineAt, () => giveUp(late())),
          end.reject,
        );
      return await end.promise;
    } finally {
      cancelTimer();
      run.signal.removeEventListener("abort", onAbort);
    }
  }
}
