import { createHash } from "node:crypto";
import { HoldfastError } from "../../task/fault.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import type { RuntimeOptions } from "../options.ts";
import { LineAppends } from "./line-appends.ts";

type LineLimits = Pick<RuntimeOptions, "maxLogLines" | "maxLogBytes" | "maxOutputBlocks" | "maxOutputBytes">;

/** One run of what appends lines: of the handler itself, or a try of a step. */
export interface LineSource {
  /** The key of the step; empty for the handler. */
  readonly step: string;
  /** Aborts where the try has come to its time limit: what its code appends later would stand beside what the next try does. */
  readonly limit?: AbortSignal;
}

export interface LinesSetup {
  readonly limits: LineLimits;
  /** False where the store keeps none; default: true. */
  readonly areKept?: boolean;
  /** Those that earlier attempts appended and that are kept, in their order. */
  readonly earlier?: readonly TaskLine[];
  /** The numbers of the last lines of the lists. */
  readonly last?: Readonly<Record<LineList, number>>;
  /** The steps that ended in earlier attempts; left out where `failedRunAgain`: then it is said of each that is replayed. */
  readonly ended?: Iterable<string>;
  /** Whether a step that has failed runs again, where its handler is tried again. */
  readonly failedRunAgain?: boolean;
}

interface KeptLine {
  readonly seq: number;
  readonly step: string;
  readonly place: number;
  readonly bytes: number;
  /** Tells the same text from another one. */
  readonly hash: string;
}

/** What a source has still to repeat of what earlier runs of the same code appended. */
interface Repeats {
  /** Lines that were forgotten: as many of those that are not kept are taken for them. */
  forgotten: number;
  /** How many lines of each text are kept. */
  readonly kept: Map<string, number>;
}

/**
 * The log and the output of a task, as the run that holds it appends to them. What runs again, a handler that is replayed or a step that is
 * tried again, appends the same lines again, and these are recognised: of each text as many are passed over as earlier runs have
 * appended. A text that no earlier run had is a new line.
 */
export class TaskLines {
  readonly #limits: LineLimits;
  readonly #areKept: boolean;
  readonly #ended: Set<string>;
  readonly #failedRunAgain: boolean;
  readonly #kept: Readonly<Record<LineList, KeptLine[]>> = { log: [], output: [] };
  readonly #bytes = { log: 0, output: 0 };
  readonly #last: Record<LineList, number>;
  /** How many lines each source has appended, by list and step. */
  readonly #places = new Map<string, number>();
  readonly #repeats = new WeakMap<LineSource, Partial<Record<LineList, Repeats>>>();
  readonly #appends = new LineAppends();

  constructor({
    limits,
    areKept = true,
    earlier = [],
    last = { log: 0, output: 0 },
    ended = [],
    failedRunAgain = false,
  }: LinesSetup) {
    this.#limits = limits;
    this.#areKept = areKept;
    this.#ended = new Set(ended);
    this.#failedRunAgain = failedRunAgain;
    this.#last = { ...last };
    for (const line of earlier) this.#keep(line, hashOf(line.body), Buffer.byteLength(line.body));
  }

  /** From now on what is appended is written, and with it what was appended before. */
  writeWith(write: (lines: readonly TaskLine[], forget: readonly number[]) => Promise<void>): void {
    this.#appends.writeWith(write);
  }

  /**
   * Appends a line, unless it repeats one; resolves once it is written, where anything is. Throws `too_large` for a line that the log could not
   * keep, `limit_reached` for one that the output has no room for, `step_timeout` after the time limit of a try, and `configuration` where
   * none are kept.
   */
  append(source: LineSource, list: LineList, at: number, body: string): Promise<void> {
    if (!this.#areKept)
      throw new HoldfastError(
        "configuration",
        "The store keeps no logs and outputs of tasks: task.log and task.output need one that does.",
      );
    source.limit?.throwIfAborted();
    const bytes = Buffer.byteLength(body);
    const hash = hashOf(body);
    if (this.#isRepeated(source, list, hash)) return this.#appends.written();
    this.#assertFits(list, bytes);
    const { step } = source;
    const place = this.#places.get(`${list} ${step}`) ?? 0;
    const line = { list, seq: this.#last[list] + 1, at, step, place, body };
    this.#keep(line, hash, bytes);
    return this.#appends.append(line, list === "log" ? this.#forgetOldest() : []);
  }

  /** The number of the last line of a list, be it written yet or not; what repeats a line has none. */
  lastOf(list: LineList): number {
    return this.#last[list];
  }

  /** Resolves when what was appended so far is written, or has failed. */
  written(): Promise<void> {
    return this.#appends.written();
  }

  /** A step has ended, now or in an earlier attempt: unless it `failed`, it does not run again. */
  stepEnded(step: string, failed: boolean): void {
    if (failed && this.#failedRunAgain) return;
    if (this.#places.has(`log ${step}`)) this.#ended.add(step);
  }

  /** Whether something waits to be written. */
  get isWriting(): boolean {
    return this.#appends.isWriting;
  }

  #isRepeated(source: LineSource, list: LineList, hash: string): boolean {
    const repeats = this.#repeatsOf(source, list);
    const left = repeats.kept.get(hash) ?? 0;
    if (left > 0) {
      repeats.kept.set(hash, left - 1);
      return true;
    }
    if (repeats.forgotten === 0) return false;
    repeats.forgotten--;
    return true;
  }

  #repeatsOf(source: LineSource, list: LineList): Repeats {
    const known = this.#repeats.get(source)?.[list];
    if (known !== undefined) return known;
    const own = this.#kept[list].filter(({ step }) => step === source.step);
    const kept = new Map<string, number>();
    for (const { hash } of own) kept.set(hash, (kept.get(hash) ?? 0) + 1);
    const repeats = { forgotten: own[0]?.place ?? 0, kept };
    this.#repeats.set(source, { ...this.#repeats.get(source), [list]: repeats });
    return repeats;
  }

  #keep({ list, seq, step, place }: TaskLine, hash: string, bytes: number): void {
    this.#kept[list].push({ seq, step, place, bytes, hash });
    this.#bytes[list] += bytes;
    this.#last[list] = Math.max(this.#last[list], seq);
    this.#places.set(`${list} ${step}`, place + 1);
  }

  #assertFits(list: LineList, bytes: number): void {
    const { maxLogBytes, maxOutputBlocks, maxOutputBytes } = this.#limits;
    if (list === "log") {
      if (bytes <= maxLogBytes) return;
      throw new HoldfastError(
        "too_large",
        `A line of ${bytes} bytes is larger than a whole log may be, which is ${maxLogBytes} bytes (maxLogBytes).`,
      );
    }
    if (this.#kept.output.length >= maxOutputBlocks)
      throw new HoldfastError(
        "limit_reached",
        `The output of a task has room for ${maxOutputBlocks} blocks (maxOutputBlocks).`,
      );
    if (this.#bytes.output + bytes > maxOutputBytes)
      throw new HoldfastError(
        "limit_reached",
        `The output of a task has room for ${maxOutputBytes} bytes (maxOutputBytes).`,
      );
  }

  /**
   * Makes room in the log, and returns the numbers of the lines that go. Of what may run again the last line stays: its place says how many
   * lines that has appended.
   */
  #forgetOldest(): number[] {
    const { maxLogLines, maxLogBytes } = this.#limits;
    const { log } = this.#kept;
    const gone: number[] = [];
    for (let index = 0; log.length > maxLogLines || this.#bytes.log > maxLogBytes;) {
      const line = log[index];
      if (line === undefined) break;
      if (this.#isNeeded(line)) {
        index++;
        continue;
      }
      log.splice(index, 1);
      this.#bytes.log -= line.bytes;
      gone.push(line.seq);
    }
    return gone;
  }

  #isNeeded({ step, place }: KeptLine): boolean {
    return place + 1 === this.#places.get(`log ${step}`) && !this.#ended.has(step);
  }
}

function hashOf(body: string): string {
  return createHash("sha256").update(body).digest("base64").slice(0, 22);
}
