import { HoldfastError } from "../../task/fault.ts";
import { missingForInput, type InputMethod } from "../../task/input.ts";
import type { JournalEnd, JournalHead, JournalKey } from "../../task/journal.ts";
import { encodeJson } from "../../task/json.ts";
import type { GenerationName, Origin } from "../../task/record.ts";
import type { HeldTask } from "../journal/held-task.ts";
import type { Run } from "../journal/run.ts";
import type { Clock } from "../clock.ts";
import type { LifeLimit } from "../journal/life-limit.ts";
import { inputFailed, isClientError } from "./answers.ts";
import { decodeError, encodeError } from "../tool/error-json.ts";
import { requestHash } from "../request-hash.ts";
import { assertDuration, deadlineAfter } from "../duration.ts";
import type { QuestionOptions } from "../tool/task-context.ts";
import type { Timers } from "../timers.ts";

export interface QuestionsSetup {
  readonly run: Run;
  readonly task: HeldTask;
  readonly limit: LifeLimit;
  readonly origin: Origin;
  readonly generation: GenerationName;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly maxInputs: number;
  /** For questions that say nothing themselves; null: as long as the task. */
  readonly timeoutMs: number | null;
}

interface Question {
  readonly key: string;
  readonly method: InputMethod;
  /** Raw JSON. */
  readonly params: string;
  readonly hash: string;
  readonly deadlineAt: number | null;
}

/** Puts a run's questions into its journal, and waits for the answers. */
export class Questions {
  readonly #setup: QuestionsSetup;
  #asked = 0;

  constructor(setup: QuestionsSetup) {
    this.#setup = setup;
  }

  /** Resolves with the answer's result object; an answered question is not put again (guarantee 6). */
  async ask(
    key: JournalKey,
    method: InputMethod,
    params: object,
    { timeoutMs: ownMs }: QuestionOptions,
  ): Promise<unknown> {
    const timeoutMs = ownMs ?? this.#setup.timeoutMs ?? undefined;
    if (timeoutMs !== undefined) assertDuration(timeoutMs);
    this.#assertCapability(method, { ...params });
    const { run, limit, clock } = this.#setup;
    const claimed = run.claim(key);
    this.#assertNotTooMany();
    const hash = requestHash(method, params);
    const entry = run.find(claimed);
    if (entry !== undefined) assertSameQuestion(entry, method, hash);
    if (entry !== undefined && entry.doneAt !== null) return run.replayed(entry, answerOf);
    const raw = this.#encode(claimed, params);
    await run.beginWait(entry === undefined);
    const deadlineAt =
      entry?.deadlineAt ?? (timeoutMs === undefined ? null : deadlineAfter(clock.now(), timeoutMs));
    // A timeout that is not the question's own says how long any question may wait, within the life of its task.
    if (entry === undefined && ownMs !== undefined && deadlineAt !== null && !limit.reaches(deadlineAt)) {
      await limit.assertReaches(deadlineAt, `The question "${claimed}"`);
    }
    const question = { key: claimed, method, params: raw, hash, deadlineAt };
    const put = (): Promise<JournalEnd> => this.#put(question, entry !== undefined);
    return answerOf(await run.whileWaiting(put, deadlineAt ?? undefined));
  }

  async #put(question: Question, again: boolean): Promise<JournalEnd> {
    const { run, task, timers } = this.#setup;
    const { key, method, params, hash, deadlineAt } = question;
    run.signal.throwIfAborted();
    if (!again) task.journal.addText(key, params);
    const end = task.journal.awaitEnd(key);
    const onAbort = (): void => end.reject(run.signal.reason as Error);
    end.promise.catch(() => undefined); // the write below may reject first
    run.signal.addEventListener("abort", onAbort, { once: true });
    let callOff = (): void => undefined;
    try {
      if (!again) {
        const input = { key, method, params };
        const opening = task.writeWithRest("open_input", { input, requestHash: hash, deadlineAt });
        await task.journal.opening(key, opening);
      }
      if (deadlineAt !== null)
        callOff = run.life.holdTimer(timers.at(deadlineAt, () => void this.#giveUp(key).catch(end.reject)));
      return await end.promise;
    } finally {
      callOff();
      run.signal.removeEventListener("abort", onAbort);
    }
  }

  /** Ends a question at its deadline, unless an answer was faster. */
  async #giveUp(key: string): Promise<void> {
    const error = encodeError(
      new HoldfastError("input_timeout", `The question "${key}" was not answered in time.`),
      this.#setup.run.maxBodyBytes,
    );
    await this.#setup.task.journal.closeWait(key, error);
  }

  #assertCapability(method: InputMethod, params: Record<string, unknown>): void {
    const missing = missingForInput(method, params, this.#setup.origin.capabilities);
    if (missing === undefined) return;
    throw new HoldfastError(
      // Only there it is an error of the protocol; before, the tool's result says what went wrong.
      this.#setup.generation === "2026-07-28" ? "missing_capability" : "input_failed",
      `The client of this task cannot be asked: it did not declare ${Object.keys(missing).join(", ")}.`,
      { data: { requiredCapabilities: missing } },
    );
  }

  /** An attempt asks anew what was asked before, so its own count is that of its task. */
  #assertNotTooMany(): void {
    const { maxInputs } = this.#setup;
    this.#asked += 1;
    if (this.#asked <= maxInputs) return;
    throw new HoldfastError("limit_reached", `A task asks at most ${maxInputs} questions.`);
  }

  #encode(key: string, params: object): string {
    const raw = encodeJson(params, `The question "${key}"`);
    const { maxBodyBytes } = this.#setup.run;
    if (Buffer.byteLength(raw) > maxBodyBytes) {
      throw new HoldfastError("too_large", `The question "${key}" is larger than ${maxBodyBytes} bytes.`);
    }
    return raw;
  }
}

/** How a question ended: the answer's result object, or the throw that stands for none. */
function answerOf({ key, value, error: json }: JournalEnd): unknown {
  if (json === null) return JSON.parse(value ?? "null");
  const error: unknown = JSON.parse(json);
  throw isClientError(error) ? inputFailed(key, error) : decodeError(json);
}

function assertSameQuestion(entry: JournalHead, method: InputMethod, hash: string): void {
  if (entry.kind === "input" && entry.method === method && entry.requestHash === hash) return;
  throw new HoldfastError(
    "replay_mismatch",
    `The journal has another ${entry.kind === "input" ? "question" : entry.kind} under the key "${entry.key}" than the handler asks now. Give a changed question a new key.`,
  );
}
