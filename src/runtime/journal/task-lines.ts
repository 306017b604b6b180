import { createHash } from "node:crypto";
import { HoldfastError } from "../../task/fault.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import { nextTurn } from "../wait-for.ts";
import type { RuntimeSettings } from "../options.ts";

type LineLimits = Pick<
  RuntimeSettings,
  "maxLogLines" | "maxLogBytes" | "maxOutputBlocks" | "maxOutputBytes" | "maxStatusBytes"
>;

/** One run of code that appends lines: of the handler itself, or a try of a step. */
export interface LineSource {
  /** The key of the step; empty for the handler. */
  readonly step: string;
  /** Aborts at the time limit of the try: lines that its code appends later would mix with those of the next try. */
  readonly limit?: AbortSignal;
}

export interface LinesSetup {
  readonly limits: LineLimits;
  /** False if the store keeps none; default: true. */
  readonly areKept?: boolean;
  /** Lines of earlier attempts that are kept, in order. */
  readonly earlier?: readonly TaskLine[];
  /** The numbers of the last lines of the lists. */
  readonly last?: Readonly<Record<LineList, number>>;
  /** The steps that ended in earlier attempts; left out with `failedRunAgain`, where each replayed step is reported. */
  readonly ended?: Iterable<string>;
  /** Whether failed steps run again when their handler is retried. */
  readonly failedRunAgain?: boolean;
}

/** Reports that are not kept: those of a kind that are no good, and any that the store refuses for good. */
type Dropped = LineList | "progress" | "refused";

/** What is said of reports that were not kept: of one, of several, and why. */
const droppedWords: Readonly<Record<Dropped, readonly [one: string, many: string, why: string]>> = {
  log: ["log line", "log lines", "larger than maxLogBytes"],
  output: ["output block", "output blocks", "beyond maxOutputBlocks or maxOutputBytes"],
  progress: ["progress report", "progress reports", "without a finite number"],
  refused: ["report", "reports", "that the store refuses"],
};

/** Readers of an output that is full see that something is missing. */
const outputEnd = JSON.stringify({
  type: "text",
  text: "The output of this task is full. What came later was not kept.",
});

const outputEndHash = hashOf(outputEnd);

/** Lines without a write in one turn of the event loop. */
const mostInTurn = 64;

type Write = (lines: readonly TaskLine[], forget: readonly number[]) => Promise<void>;

interface Batch {
  readonly lines: Map<string, TaskLine>;
  readonly forget: number[];
  readonly written: PromiseWithResolvers<void>;
}

interface KeptLine {
  readonly seq: number;
  readonly step: string;
  readonly place: number;
  readonly bytes: number;
  /** To compare texts. */
  readonly hash: string;
}

/** Lines of earlier runs that a source has not repeated yet. */
interface Repeats {
  /** Dropped lines: this many lines with no kept match are taken for them. */
  forgotten: number;
  /** The number of kept lines by text. */
  readonly kept: Map<string, number>;
}

/**
 * The log and the output of a task, as the run that holds it appends to them. A replayed handler or a retried step appends the same lines
 * again. They are recognised: of each text, as many are skipped as earlier runs have appended. A text that no earlier run appended is a new
 * line. They are written in order: one write runs at a time, and lines that come meanwhile are in the next one.
 */
export class TaskLines {
  readonly limits: LineLimits;
  readonly #areKept: boolean;
  readonly #ended: Set<string>;
  readonly #failedRunAgain: boolean;
  readonly #kept: Readonly<Record<LineList, KeptLine[]>> = { log: [], output: [] };
  readonly #bytes = { log: 0, output: 0 };
  readonly #last: Record<LineList, number>;
  /** The number of lines appended by each source, by list and step. */
  readonly #places = new Map<string, number>();
  readonly #repeats = new WeakMap<LineSource, Partial<Record<LineList, Repeats>>>();
  /** Left out while there is no task. */
  #write: Write | undefined;
  #pending: Batch | undefined;
  /** The batch being written. */
  #underWay: Batch | undefined;
  #skips = 0;
  /** Number of reports that this run could not keep. */
  readonly #dropped = new Map<Dropped, number>();
  #outputIsFull = false;

  constructor({
    limits,
    areKept = true,
    earlier = [],
    last = { log: 0, output: 0 },
    ended = [],
    failedRunAgain = false,
  }: LinesSetup) {
    this.limits = limits;
    this.#areKept = areKept;
    this.#ended = new Set(ended);
    this.#failedRunAgain = failedRunAgain;
    this.#last = { ...last };
    for (const line of earlier) this.#keep(line, hashOf(line.body), Buffer.byteLength(line.body));
  }

  /** From now on lines are written, including those appended before. */
  writeWith(write: Write): void {
    this.#write = write;
    this.#writeNext();
  }

  /**
   * Appends a line, unless it repeats one; resolves once it is written, if lines are written. One that does not fit is counted and left out.
   * Throws `step_timeout` after the time limit of a try, and `configuration` if none are kept.
   */
  append(source: LineSource, list: LineList, at: number, body: string): Promise<void> {
    if (!this.#areKept)
      throw new HoldfastError(
        "configuration",
        "This store does not keep logs and outputs of tasks, which task.log and task.output need.",
      );
    source.limit?.throwIfAborted();
    const bytes = Buffer.byteLength(body);
    const hash = hashOf(body);
    if (this.#isRepeated(source, list, hash)) return this.#skipped();
    if (this.#fits(list, bytes)) return this.#add(source.step, list, at, body);
    this.drop(list);
    if (list === "log" || this.#outputIsFull) return this.#skipped();
    return this.#add("", "output", at, outputEnd);
  }

  #add(step: string, list: LineList, at: number, body: string): Promise<void> {
    const place = this.#places.get(`${list} ${step}`) ?? 0;
    const line = { list, seq: this.#last[list] + 1, at, step, place, body };
    this.#keep(line, hashOf(body), Buffer.byteLength(body));
    const batch: Batch = (this.#pending ??= {
      lines: new Map(),
      forget: [],
      written: Promise.withResolvers<void>(),
    });
    batch.written.promise.catch(() => undefined); // whoever appends may leave it alone
    batch.lines.set(`${list} ${line.seq}`, line);
    const forget = list === "log" ? this.#forgetOldest() : [];
    for (const seq of forget) if (!batch.lines.delete(`log ${seq}`)) batch.forget.push(seq);
    this.#writeNext();
    return this.#write === undefined ? this.#skipped() : batch.written.promise;
  }

  /**
   * As `written`, for a line that causes no write. Now and then it waits for the next turn of the event loop: otherwise a handler that does
   * nothing but report would let nothing else run.
   */
  async #skipped(): Promise<void> {
    if (++this.#skips % mostInTurn === 0) await nextTurn();
    return this.written();
  }

  #writeNext(): void {
    const write = this.#write;
    if (write === undefined || this.#underWay !== undefined || this.#pending === undefined) return;
    this.#underWay = this.#pending;
    void this.#writePending(this.#pending, write).finally(() => {
      this.#underWay = undefined;
      this.#writeNext();
    });
  }

  /** Never rejects. */
  async #writePending(batch: Batch, write: Write): Promise<void> {
    await Promise.resolve(); // a handler mostly appends several lines without waiting for the first
    this.#pending = undefined;
    const { resolve, reject } = batch.written;
    await write([...batch.lines.values()], batch.forget).then(resolve, reject);
  }

  /** Counts a report that cannot be kept. */
  drop(what: Dropped): void {
    this.#dropped.set(what, (this.#dropped.get(what) ?? 0) + 1);
  }

  /** What this run could not keep, as a text for its log; undefined if it kept everything, or has no log. */
  get dropped(): string | undefined {
    if (!this.#areKept) return undefined;
    const missing = Array.from(this.#dropped, ([what, count]) => {
      const [one, many, why] = droppedWords[what];
      return `${count} ${count === 1 ? one : many} ${why}`;
    });
    if (missing.length === 0) return undefined;
    return `Some of what this task reported was not kept: ${missing.join(", ")}.`;
  }

  /** The number of the last line of a list, written or not. A repeated line has none. */
  lastOf(list: LineList): number {
    return this.#last[list];
  }

  /** Resolves when all lines so far are written, or have failed. Does not wait for later ones, which may keep coming. */
  async written(): Promise<void> {
    const last = this.#pending ?? this.#underWay;
    if (this.#write !== undefined) await last?.written.promise.catch(() => undefined);
  }

  /** A step has ended, now or in an earlier attempt. Unless it `failed`, it does not run again. */
  stepEnded(step: string, failed: boolean): void {
    if (failed && this.#failedRunAgain) return;
    if (this.#places.has(`log ${step}`)) this.#ended.add(step);
  }

  /** Whether lines wait to be written. */
  get isWriting(): boolean {
    return this.#write !== undefined && (this.#pending !== undefined || this.#underWay !== undefined);
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
    if (list === "output" && hash === outputEndHash) this.#outputIsFull = true;
    this.#bytes[list] += bytes;
    this.#last[list] = Math.max(this.#last[list], seq);
    this.#places.set(`${list} ${step}`, place + 1);
  }

  #fits(list: LineList, bytes: number): boolean {
    const { maxLogBytes, maxOutputBlocks, maxOutputBytes } = this.limits;
    if (list === "log") return bytes <= maxLogBytes;
    const hasRoom = this.#kept.output.length < maxOutputBlocks;
    return !this.#outputIsFull && hasRoom && this.#bytes.output + bytes <= maxOutputBytes;
  }

  /**
   * Makes room in the log, and returns the numbers of the dropped lines. Keeps the last line of each source that may run again: its place
   * is the number of lines that the source has appended.
   */
  #forgetOldest(): number[] {
    const { maxLogLines, maxLogBytes } = this.limits;
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
