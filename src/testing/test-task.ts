import assert from "node:assert/strict";
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { type RecordedEntry, recordedEntry } from "../store/export-journal.ts";
import type { InputResult } from "../client/question/ask-user.ts";
import type { LogLine, OutputPart } from "../client/task/task-requests.ts";
import type { RemoteTask } from "../client/task/remote-task.ts";
import type { TaskHandle } from "../client/task/task-handle.ts";
import { textOf } from "../runtime/plain-data.ts";
import { decodeValue } from "../runtime/stored-values.ts";
import type { SendOptions } from "../runtime/tool/declared-events.ts";
import type { Tasks } from "../server/tasks.ts";
import type { TaskRecord } from "../task/record.ts";
import type { CommittedTasks } from "./committed-tasks.ts";
import { encodeJournalKey, type JournalKey, type JournalEntry } from "../task/journal.ts";
import { isTerminal } from "../task/outcome.ts";
import type { CrashPoints } from "./crashable-store.ts";
import type { IdleDetector } from "./clocks.ts";
import type { TestQuestion, TestQuestions } from "./test-questions.ts";
import { latestTime, timeSpanOf } from "../task/time.ts";
import type { LogText, TaskLine } from "../task/task-line.ts";

/**
 * What a journal must contain. A list: exactly these keys, in the order in which they began. An object: these keys with their results,
 * whatever else there is; `undefined` for a step that returned nothing.
 */
export type ExpectedJournal = readonly string[] | Readonly<Record<string, unknown>>;

/** Throws an `AssertionError` that says how the journal differs. */
function assertJournal(entries: readonly RecordedEntry[], expected: ExpectedJournal): void {
  const keys = entries.map(({ key }) => key);
  if (isList(expected)) {
    assert.deepEqual(keys, expected, `The journal has ${listed(keys)}, not ${listed(expected)}.`);
    return;
  }
  for (const [key, value] of Object.entries(expected)) {
    const entry = entries.find((candidate) => candidate.key === key);
    assert.ok(entry !== undefined, `The journal has no "${key}". It has ${listed(keys)}.`);
    assert.notEqual(entry.doneAt, null, `"${key}" has not ended.`);
    assert.equal(entry.error, undefined, `"${key}" failed: ${JSON.stringify(entry.error)}`);
    assert.deepEqual(
      entry.value,
      value,
      `"${key}" ended with ${textOf(entry.value)}, not with ${textOf(value)}.`,
    );
  }
}

function isList(expected: ExpectedJournal): expected is readonly string[] {
  return Array.isArray(expected);
}

function listed(keys: readonly string[]): string {
  return keys.length === 0 ? "nothing" : keys.map((key) => JSON.stringify(key)).join(", ");
}

/** What a test task uses of its server and client. */
export interface TestWorld {
  readonly committed: CommittedTasks;
  readonly idleDetector: IdleDetector;
  readonly questions: TestQuestions;
  readonly crashPoints: CrashPoints;
  readonly now: () => number;
  /** The message if the server is down. */
  readonly down: () => string | undefined;
  /** The tasks of the process that serves, once there is one. */
  readonly tasks: () => Promise<Tasks>;
  readonly runs: (key: JournalKey, taskId?: string) => number;
}

/** A call that a test has started. */
export class TestTask {
  /** The task's id; in its handler, `task.id`. */
  readonly id: string;
  /** The client's name for it. */
  readonly #wireId: string;
  /** The client's handle of the task. */
  readonly handle: TaskHandle;
  readonly #world: TestWorld;
  readonly #result: Promise<CallToolResult>;

  /** @internal */
  constructor(handle: TaskHandle, wireId: string, world: TestWorld) {
    this.id = world.committed.named(wireId)?.id ?? wireId;
    this.#wireId = wireId;
    this.handle = handle;
    this.#world = world;
    this.#result = handle.result(); // started here, because a client asks questions only for waiting callers
    this.#result.catch(() => undefined);
  }

  /**
   * Waits for the result, through crashes and restarts. Rejects as a client does (`TaskClientError`). Rejects with an `AssertionError` if
   * the task waits for the test, saying for what; if an answer given ahead does not fit its question; and if it has ended without reaching
   * a crash point.
   */
  async result(): Promise<CallToolResult> {
    const { questions, idleDetector, committed, crashPoints } = this.#world;
    const result = await idleDetector.unlessStuck(
      this.#result,
      () => this.#problem(),
      () => questions.refusal(this.#wireId),
    );
    const isLast = committed.records().every(({ state }) => isTerminal(state));
    const missed = isLast ? crashPoints.missed() : undefined;
    if (missed !== undefined) assert.fail(missed);
    return result;
  }

  /** The task's status, as a client reads it now. */
  async status(): Promise<RemoteTask["status"]> {
    return (await this.#wait(this.handle.get())).status;
  }

  /** Asks the server to cancel the task; `result()` then rejects with `cancelled`. */
  cancel(): Promise<void> {
    return this.#wait(this.handle.cancel());
  }

  /**
   * Waits until the handler asks the question with this key.
   *
   * ```ts
   * const { params } = await task.question("approve");
   * assert.equal(params["message"], "Send 2 rows?");
   * ```
   */
  async question(key: JournalKey): Promise<TestQuestion> {
    const { method, params } = await this.#asked(key);
    return { key: encodeJournalKey(key), method, params };
  }

  /**
   * Answers the question with this key as soon as it is asked. Resolves when the server has stored the answer. Rejects with an
   * `AssertionError` that says why if the answer does not fit the question, which stays open for another answer.
   *
   * ```ts
   * await task.answer("approve", { action: "accept", content: {} });
   * ```
   */
  async answer(key: JournalKey, answer: InputResult): Promise<void> {
    const question = await this.#asked(key);
    await this.#wait(this.#world.questions.answer(question, answer));
  }

  /** Sends an event to the task, as `tasks.sendEvent` does. Rejects for a name or a value that the tool does not declare. */
  async sendEvent(name: string, value?: unknown, options?: SendOptions): Promise<boolean> {
    const tasks = await this.#wait(this.#world.tasks());
    return tasks.sendEvent(this.id, name, value, options);
  }

  /** The steps, questions, sleeps, events and calls in the store, in the order in which they began. Also works while the server is down. */
  async journal(): Promise<readonly RecordedEntry[]> {
    return (await this.#committed())
      .entries(this.id)
      .map((entry) => recordedEntry(entry, JSON.parse, decodeValue));
  }

  /**
   * The log lines in the store, as a client gets them. Also works while the server is down.
   *
   * ```ts
   * assert.deepEqual((await task.logs()).map(({ text }) => text), ["2 rows", "sent"]);
   * ```
   */
  async logs(): Promise<readonly LogLine[]> {
    return logOf((await this.#committed()).lines(this.id, "log"));
  }

  /** The output in the store, in the same way. */
  async output(): Promise<readonly OutputPart[]> {
    return outputOf((await this.#committed()).lines(this.id, "output"));
  }

  /**
   * Asserts what the journal contains: exactly these keys in the order in which they began, or these keys with these results.
   *
   * ```ts
   * await task.assertJournal(["query", "upload"]);
   * await task.assertJournal({ query: ["2026-10-01 42"] });
   * ```
   */
  async assertJournal(expected: ExpectedJournal): Promise<void> {
    assertJournal(await this.journal(), expected);
  }

  /** How often the function of this task's step ran, across all processes. */
  runs(key: JournalKey): number {
    return this.#world.runs(key, this.id);
  }

  /** What the store contains when no handler works. */
  async #committed(): Promise<CommittedTasks> {
    await this.#world.idleDetector.settled();
    const { committed } = this.#world;
    assert.ok(
      committed.record(this.id) !== undefined,
      `Task ${this.id} has expired and was deleted from the store. Read it before t.clock.advance.`,
    );
    return committed;
  }

  #asked(key: JournalKey): ReturnType<TestQuestions["asked"]> {
    const { questions, idleDetector } = this.#world;
    const encoded = encodeJournalKey(key);
    const unasked = (why: string): string => `No question "${encoded}" was asked. ${why}`;
    return idleDetector.unlessStuck(
      questions.asked(this.#wireId, encoded),
      () => unasked(this.#problem()),
      () => (this.#hasEnded ? unasked(this.#problem()) : undefined),
    );
  }

  #wait<T>(wanted: Promise<T>): Promise<T> {
    return this.#world.idleDetector.unlessStuck(wanted, () => this.#problem());
  }

  get #hasEnded(): boolean {
    const task = this.#world.committed.record(this.id);
    return task !== undefined && isTerminal(task.state);
  }

  /** Why nothing moves on. */
  #problem(): string {
    const { committed, now, down } = this.#world;
    const task = committed.record(this.id);
    if (task === undefined) return `Task ${this.id} has expired and was deleted.`;
    if (isTerminal(task.state)) return [describedEnd(task), down()].filter(Boolean).join(" ");
    return down() ?? describedWait(task, committed.entries(this.id), now());
  }
}

function describedEnd({ id, tool, state, statusMessage }: TaskRecord): string {
  const said = statusMessage === null ? "" : `: ${statusMessage}`;
  return `Task ${id} of "${tool}" ${state === "cancelled" ? "was cancelled" : "has ended"}${said}.`.replace(
    /\.\.$/,
    ".",
  );
}

/** What an idle task waits for, and what a test should do about it. */
export function describedWait(
  { id, tool, state, runAfter }: TaskRecord,
  journal: readonly JournalEntry[],
  now: number,
): string {
  const task = `Task ${id} of "${tool}"`;
  const open = journal.filter(({ doneAt }) => doneAt === null);
  const waits = open.flatMap((entry) => waitOf(entry, now) ?? []);
  if (
    waits.length === 0 &&
    state === "queued" &&
    runAfter !== null &&
    runAfter < latestTime &&
    runAfter > now
  ) {
    waits.push(`pauses before it runs again${after(runAfter, now)}`);
  }
  return waits.length === 0 ? `${task} is ${state}.` : `${task} ${waits.join("; ")}.`;
}

function waitOf(
  { key, kind, request, deadlineAt, tries, error }: JournalEntry,
  now: number,
): string | undefined {
  const name = JSON.stringify(key);
  switch (kind) {
    case "input":
      return `waits for the answer to ${name}: await task.answer(${name}, …)`;
    case "event":
      return `waits for the event "${request}" (${name}): await task.sendEvent("${request}", …)`;
    case "call":
      return `waits for the call ${name} of tool "${request}"`;
    case "sleep":
      return `sleeps (${name})${after(deadlineAt, now)}`;
    case "artifact":
      return `stores the file ${name}`;
    case "loop":
      return undefined; // it has ended when it is written
    case "step":
      if (error === null) return `runs ${name}`;
      return `tries step ${name} again, which failed${tries === 1 ? "" : ` ${tries} times`} (${messageOf(error)})${after(deadlineAt, now)}`;
  }
}

function after(at: number | null, now: number): string {
  const ms = Math.max(0, (at ?? now) - now);
  return `, in ${timeSpanOf(ms)}: await t.clock.advance("${timeSpanOf(ms)}")`;
}

function messageOf(error: string | null): string {
  const parsed: unknown = error === null ? undefined : JSON.parse(error);
  const hasMessage = typeof parsed === "object" && parsed !== null && "message" in parsed;
  return hasMessage ? String(parsed.message) : String(error);
}

/** The stored log lines, as a client gets them. */
function logOf(lines: readonly TaskLine[]): readonly LogLine[] {
  return lines.map(({ seq, at, step, body }) => ({
    seq,
    at: new Date(at).toISOString(),
    ...(JSON.parse(body) as LogText),
    ...(step !== "" && { step }),
  }));
}

/** The stored output, as a client gets it. */
function outputOf(lines: readonly TaskLine[]): readonly OutputPart[] {
  return lines.map(({ seq, at, body }) => ({
    seq,
    at: new Date(at).toISOString(),
    content: JSON.parse(body) as ContentBlock,
  }));
}
