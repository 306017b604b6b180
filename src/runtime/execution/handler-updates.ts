import { type ContentBlock, isSpecType } from "@modelcontextprotocol/server";
import { isStoreRefusal } from "../../task/fault.ts";
import { isTerminal } from "../../task/outcome.ts";
import { cutBytes, encodeJson } from "../../task/stored-text.ts";
import { type LogLevel, logLevels, type LogText, type TaskLine } from "../../task/task-line.ts";
import { generations, type Progress, type TaskChanges, type TaskRecord } from "../../task/record.ts";
import type { HeldTask } from "../journal/held-task.ts";
import type { Run } from "../journal/run.ts";
import { plainData, textOf } from "../plain-data.ts";
import type { Services } from "../services.ts";
import { furthest } from "../../task/decide.ts";
import { millisecondsOf, type TimeSpan } from "../../task/time.ts";
import type { Timers } from "../timers.ts";

/**
 * What a handler reports of its work: lines of the log, blocks of the output, status texts and progress. Reports never fail the work:
 * - any value is taken, and becomes a text or plain data that says what it was;
 * - what is too long is cut, with a mark that says how much is missing;
 * - what the store refuses for good is left out, and counted;
 * - the same value always becomes the same text, because a line is recognised by its text when a handler runs again.
 */

/** A log line larger than this is cut, so that one cannot displace all others. */
const maxLineBytes = 64 * 1024;

/** The stored form of a log line. A level that does not exist becomes part of the text of a warning. */
export function logBody(level: LogLevel, text: unknown, data: unknown, maxLogBytes: number): string {
  const known: readonly unknown[] = logLevels;
  const isKnown = known.includes(level);
  const whole = isKnown ? textOf(text) : `[${textOf(level)}] ${textOf(text)}`;
  const line = { level: isKnown ? level : "warning", text: whole };
  const maxBytes = Math.min(maxLineBytes, maxLogBytes);
  const body = plainBody(data === undefined ? line : { ...line, data });
  if (body !== undefined && Buffer.byteLength(body) <= maxBytes) return body;
  return smallEnough(maxBytes, (room) => {
    const cut: LogText = { ...line, text: cutBytes(whole, room) };
    return JSON.stringify(data === undefined ? cut : { ...cut, data: plainData(data, room) });
  });
}

/** The stored forms of output blocks. What is no content becomes a text. */
export function outputBodies(
  content: string | ContentBlock | readonly ContentBlock[],
  maxBytes: number,
): readonly string[] {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
  const bodies = blocks.map((block) => (isContent(block) ? plainBody(block) : undefined));
  const whole = bodies.every((body) => body !== undefined) ? bodies : [plainBody(textBlock(textOf(content)))];
  return whole.map((body = "") => {
    const block = JSON.parse(body) as ContentBlock;
    if (Buffer.byteLength(body) <= maxBytes || block.type !== "text") return body;
    return smallEnough(maxBytes, (room) => JSON.stringify({ ...block, text: cutBytes(block.text, room) }));
  });
}

/** A status text, or the message of a progress report. */
export function statusOf(text: unknown, maxBytes: number): string {
  return cutBytes(textOf(text), maxBytes);
}

/** A report of progress; undefined without a finite number. */
export function progressOf(
  progress: unknown,
  total: unknown,
  message: unknown,
  maxBytes: number,
): Progress | undefined {
  const done = finite(progress);
  const all = finite(total);
  if (done === undefined) return undefined;
  return {
    progress: done,
    ...(all !== undefined && { total: all }),
    ...(message !== undefined && { message: statusOf(message, maxBytes) }),
  };
}

function finite(value: unknown): number | undefined {
  const number = typeof value === "bigint" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

function textBlock(text: string): ContentBlock {
  return { type: "text", text };
}

function isContent(block: unknown): block is ContentBlock {
  try {
    return isSpecType.ContentBlock(block);
  } catch {
    return false;
  }
}

/** The JSON of a value that is plain data, unchanged. */
function plainBody(value: unknown): string | undefined {
  try {
    return encodeJson(value, "It");
  } catch {
    return undefined;
  }
}

/** The first of ever shorter texts that fits, or the shortest. */
function smallEnough(maxBytes: number, textWithin: (room: number) => string): string {
  for (let room = maxBytes; ; room = Math.floor(room / 2)) {
    const text = textWithin(room);
    if (room < 8 || Buffer.byteLength(text) <= maxBytes) return text;
  }
}

/** The shortest time between two durable writes of progress, since handlers may report as often as they like. */
const pauseMs = 100;

/** A handler's changes of its task. */
export interface HandlerChanges {
  readonly statusMessage?: string;
  readonly ttlMs?: number | null;
  readonly pollIntervalMs?: number;
}

/** A handler's changes of its task, as it gives them. */
export interface GivenChanges {
  readonly statusMessage?: string;
  readonly ttlMs?: TimeSpan | null;
  readonly pollIntervalMs?: TimeSpan;
}

/** A handler's changes of its task. Throws a RangeError for a time that could not be stored, and a TypeError for one that is none. */
export function checkedChanges({ ttlMs, pollIntervalMs, ...changes }: GivenChanges): HandlerChanges {
  return {
    ...changes,
    ...(ttlMs !== undefined && { ttlMs: ttlMs === null ? null : wholeMs("A ttl", ttlMs) }),
    ...(pollIntervalMs !== undefined && { pollIntervalMs: wholeMs("A poll interval", pollIntervalMs) }),
  };
}

function wholeMs(what: string, given: TimeSpan): number {
  const ms = typeof given === "string" ? millisecondsOf(given) : given;
  if (Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw new RangeError(`${what} must be a whole number of milliseconds, 0 or more, not ${String(given)}.`);
}

/** What was reported and is not being written: of each kind of change the last one, and the furthest progress. */
interface Pending {
  changes: HandlerChanges;
  readonly written: PromiseWithResolvers<void>;
}

/** An attempt, as far as it reports. */
interface ReportingAttempt {
  readonly run: Run;
  /** Read once it holds its task. */
  readonly held: { readonly task: HeldTask; readonly record: TaskRecord };
  readonly timers: Timers;
  readonly services: Pick<Services, "onError">;
  /** Hears of the changed record. */
  changed(task: TaskRecord, changes: TaskChanges): void;
}

/**
 * What a handler reports, as it comes to the store; before there is a task, it is kept.
 * - Changes may be frequent: one write runs at a time, and the next one contains the last change of each kind.
 * - Progress too: the furthest report is written, and at most one per pause, unless the caller hears something else before the next.
 */
export class HandlerReports {
  readonly #attempt: ReportingAttempt;
  readonly #underWay = new Set<Promise<void>>();
  #pending: Pending | undefined;
  #progress: Progress | undefined;
  #progresses = false;
  #isWritten = false;
  #saidWhy = false;

  constructor(attempt: ReportingAttempt) {
    this.#attempt = attempt;
  }

  /** From now on there is a task to write to. */
  begin(): void {
    this.#isWritten = true;
    this.#attempt.run.setup.lines.writeWith((lines, forget) => this.#append(lines, forget));
    this.#flushChanges();
    void this.#writeProgress();
  }

  /** Resolves once these changes, or later ones that replace them, are committed. The handler need not await it. */
  update(changes: HandlerChanges): Promise<void> {
    if (this.#pending === undefined) {
      const written = Promise.withResolvers<void>();
      written.promise.catch(() => undefined);
      this.#pending = { changes, written };
    } else this.#pending.changes = { ...this.#pending.changes, ...changes };
    if (!this.#isWritten) return Promise.resolve();
    const { promise } = this.#pending.written;
    if (this.#underWay.size === 0) this.#flushChanges();
    return promise;
  }

  progress(progress: Progress): void {
    this.#progress = furthest(this.#progress ?? null, progress);
    void this.#writeProgress();
  }

  /** Begins to write the changes and the progress so far, so that a write started now comes after them. */
  flush(): void {
    this.#flushChanges();
    void this.#advance();
  }

  /** Resolves when all changes so far are written, or have failed. */
  async changed(): Promise<void> {
    this.#flushChanges();
    await Promise.all(this.#underWay);
  }

  /** The same, and the progress. */
  async said(): Promise<void> {
    await Promise.all([this.changed(), this.#advance()]);
  }

  /** The same, and all lines. */
  async written(): Promise<void> {
    await Promise.all([this.said(), this.#attempt.run.setup.lines.written()]);
  }

  #flushChanges(): void {
    const pending = this.#pending;
    if (pending === undefined || !this.#isWritten) return;
    this.#pending = undefined;
    const { resolve, reject } = pending.written;
    const write = this.#change(pending.changes)
      .then(resolve, reject)
      .finally(() => {
        this.#underWay.delete(write);
        if (this.#underWay.size === 0) this.#flushChanges();
      });
    this.#underWay.add(write);
  }

  /** Never rejects. Nobody waits for a report: when the attempt ends, or loses its task, the rest is dropped. */
  async #writeProgress(): Promise<void> {
    if (this.#progresses || !this.#isWritten) return;
    this.#progresses = true;
    const { timers, run } = this.#attempt;
    while (this.#progress !== undefined) {
      await this.#advance();
      await timers.pause(pauseMs, run.signal).catch(() => undefined);
    }
    this.#progresses = false; // at once: a report of the next turn finds nobody who would write it
  }

  async #change({ ttlMs, ...given }: HandlerChanges): Promise<void> {
    const from = generations[this.#attempt.held.record.generation].handlerTtlFrom;
    const changes = ttlMs === undefined ? given : { ...given, expiry: { from, ms: ttlMs } };
    const { statusMessage, ...others } = changes;
    if (statusMessage === undefined) return this.#write(changes);
    if (await this.#takes(() => this.#write(changes))) return;
    this.#attempt.run.setup.lines.drop("refused");
    if (Object.keys(others).length > 0) await this.#write(others);
  }

  /** Never rejects. */
  async #advance(): Promise<void> {
    const progress = this.#progress;
    if (progress === undefined || !this.#isWritten) return;
    this.#progress = undefined;
    const taken = await this.#takes(() => this.#write({ progress })).catch(() => true);
    if (!taken) this.#attempt.run.setup.lines.drop("refused");
  }

  /** Finds by halves which lines the store refuses. */
  async #append(lines: readonly TaskLine[], forget: readonly number[]): Promise<void> {
    if (this.#storesNothing) return;
    const { held, run } = this.#attempt;
    if (await this.#takes(() => held.task.write("append", { lines, forget }))) return;
    if (lines.length === 0) return;
    if (lines.length === 1 && forget.length === 0) return run.setup.lines.drop("refused");
    const half = Math.floor(lines.length / 2);
    await this.#append(lines.slice(0, half), forget);
    await this.#append(lines.slice(half), []);
  }

  async #write(changes: TaskChanges): Promise<void> {
    if (this.#storesNothing) return;
    const result = await this.#attempt.held.task.write("update", { changes });
    if (result.ok) this.#attempt.changed(result.task, changes);
  }

  /** Resolves with false where the store refuses this for good, which `onError` hears once of a run. */
  async #takes(write: () => Promise<unknown>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (error) {
      if (!isStoreRefusal(error)) throw error;
      if (!this.#saidWhy) this.#attempt.services.onError(error);
      this.#saidWhy = true;
      return false;
    }
  }

  /** The handler only runs to learn that its task was cancelled. */
  get #storesNothing(): boolean {
    return isTerminal(this.#attempt.held.record.state);
  }
}
