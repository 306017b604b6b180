import type { Read } from "../../options/options.ts";
import { HoldfastError, tooLarge } from "../../task/fault.ts";
import { missingForInput, type InputMethod, type JournalEnd, type JournalKey } from "../../task/journal.ts";
import { encodeJson } from "../../task/stored-text.ts";
import { generations, type GenerationName, type Origin } from "../../task/record.ts";
import type { OutsideWait, OutsideWaits } from "../journal/outside-waits.ts";
import type { Run } from "../journal/run.ts";
import { inputFailed, isClientError } from "./answers.ts";
import { hasMark, operatorsOnly } from "./open-questions.ts";
import { decodeError } from "../stored-values.ts";
import { requestHash } from "../request-hash.ts";
import type { QuestionOptions } from "../tool/task-context.ts";

export interface QuestionsSetup {
  readonly run: Run;
  readonly waits: OutsideWaits;
  readonly origin: Origin;
  readonly generation: GenerationName;
  readonly maxInputs: number;
  /** For questions without their own timeout; null: as long as the task. */
  readonly timeoutMs: number | null;
}

/** Writes a run's questions into its journal, and waits for the answers. */
export class Questions {
  readonly #setup: QuestionsSetup;
  #asked = 0;

  constructor(setup: QuestionsSetup) {
    this.#setup = setup;
  }

  /** Resolves with the answer's result object; an answered question is not asked again (guarantee 6). */
  async ask(
    key: JournalKey,
    method: InputMethod,
    params: object,
    { timeoutMs: ownMs }: Read<QuestionOptions>,
  ): Promise<unknown> {
    const timeoutMs = ownMs ?? this.#setup.timeoutMs ?? undefined;
    if (!hasMark(params, operatorsOnly)) this.#assertCapability(method, { ...params });
    const { run, waits } = this.#setup;
    const claimed = run.claim(key);
    this.#assertNotTooMany();
    const hash = requestHash(method, params);
    const raw = this.#encode(claimed, params);
    const entry = run.find(claimed, { kind: "input", method, requestHash: hash, request: raw });
    if (entry !== undefined && entry.doneAt !== null) return run.replayed(entry, answerOf);
    const question: OutsideWait<"open_input"> = {
      key: claimed,
      entry,
      command: "open_input",
      method,
      begin: (deadlineAt) => ({
        input: { key: claimed, method, params: raw },
        requestHash: hash,
        deadlineAt,
      }),
      text: raw,
      timeoutMs,
      // A timeout that is not the question's own says how long any question may wait, within the life of its task.
      mustEndInTime: ownMs === undefined ? undefined : `The question "${claimed}"`,
      late: () => new HoldfastError("input_timeout", `The question "${claimed}" was not answered in time.`),
    };
    return waits.until(question, answerOf);
  }

  #assertCapability(method: InputMethod, params: Record<string, unknown>): void {
    const missing = missingForInput(method, params, this.#setup.origin.capabilities);
    if (missing === undefined) return;
    throw new HoldfastError(
      generations[this.#setup.generation].undeclared,
      `The client of this task cannot be asked: it did not declare ${Object.keys(missing).join(", ")}.`,
      { data: { requiredCapabilities: missing } },
    );
  }

  /** An attempt asks all earlier questions again, so its own count is that of its task. */
  #assertNotTooMany(): void {
    const { maxInputs } = this.#setup;
    this.#asked += 1;
    if (this.#asked <= maxInputs) return;
    throw new HoldfastError("limit_reached", `A task can ask at most ${maxInputs} questions.`);
  }

  #encode(key: string, params: object): string {
    const raw = encodeJson(params, `The question "${key}"`);
    const { maxBodyBytes } = this.#setup.run.setup;
    if (Buffer.byteLength(raw) > maxBodyBytes) {
      throw tooLarge(`The question "${key}"`, maxBodyBytes);
    }
    return raw;
  }
}

/** How a question ended: returns the answer's result object, or throws its error. */
function answerOf({ key, value, error: json }: JournalEnd): unknown {
  if (json === null) return JSON.parse(value ?? "null");
  const error: unknown = JSON.parse(json);
  throw isClientError(error) ? inputFailed(key, error) : decodeError(json);
}
