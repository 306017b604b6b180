import assert from "node:assert/strict";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { InputResult } from "../client/question/input-request.ts";
import type { LogLine, OutputPart } from "../client/task/task-lines.ts";
import type { RemoteTask } from "../client/task/remote-task.ts";
import type { TaskHandle } from "../client/task/task-handle.ts";
import type { SendOptions } from "../server/tasks-options.ts";
import type { Tasks } from "../server/tasks.ts";
import { recordedEntry, type RecordedEntry } from "../store/export-journal.ts";
import type { StoredTask } from "../store/memory/stored-task.ts";
import type { MemoryTables } from "../store/memory/memory-tables.ts";
import { encodeJournalKey, type JournalKey } from "../task/journal.ts";
import { isTerminal } from "../task/status.ts";
import { assertJournal, type ExpectedJournal } from "./assert-journal.ts";
import type { CrashPoints } from "./crash-points.ts";
import { describedWait } from "./described-wait.ts";
import type { Stillness } from "./stillness.ts";
import { logOf, outputOf } from "./stored-lines.ts";
import type { TestQuestion, TestQuestions } from "./test-questions.ts";

/** What a test task uses of its server and client. */
export interface TestWorld {
  readonly tables: MemoryTables;
  readonly stillness: Stillness;
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
  /** The client's handle of the task. */
  readonly handle: TaskHandle;
  readonly #world: TestWorld;
  readonly #result: Promise<CallToolResult>;

  /** @internal */
  constructor(handle: TaskHandle, id: string, world: TestWorld) {
    this.id = id;
    this.handle = handle;
    this.#world = world;
    this.#result = handle.result(); // started here, because a client asks questions only for waiting callers
    this.#result.catch(() => undefined);
  }

  /**
   * Waits for the result, through crashes and restarts. Rejects as a client does (`TaskClientError`). Rejects with an `AssertionError` if
   * the task waits for the test, saying for what, and if it has ended without reaching a crash point.
   */
  async result(): Promise<CallToolResult> {
    const result = await this.#wait(this.#result);
    const isLast = [...this.#world.tables.stored.values()].every(({ record }) => isTerminal(record.state));
    const missed = isLast ? this.#world.crashPoints.missed() : undefined;
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
   * Answers the question with this key as soon as it is asked. Resolves when the server has stored the answer.
   *
   * ```ts
   * await task.answer("approve", { action: "accept", content: {} });
   * ```
   */
  async answer(key: JournalKey, answer: InputResult): Promise<void> {
    const question = await this.#asked(key);
    await this.#wait(this.#world.questions.answer(question, answer));
  }

  /** Sends an event to the task, as `tasks.sendEvent` does. */
  async sendEvent(name: string, value?: unknown, options?: SendOptions): Promise<boolean> {
    const tasks = await this.#wait(this.#world.tasks());
    return tasks.sendEvent(this.id, name, value, options);
  }

  /** The steps, questions, sleeps, events and calls in the store, in the order in which they began. Also works while the server is down. */
  async journal(): Promise<readonly RecordedEntry[]> {
    return [...(await this.#stored()).journal.values()].map((entry) => recordedEntry(entry, JSON.parse));
  }

  /**
   * The log lines in the store, as a client gets them. Also works while the server is down.
   *
   * ```ts
   * assert.deepEqual((await task.logs()).map(({ text }) => text), ["2 rows", "sent"]);
   * ```
   */
  async logs(): Promise<readonly LogLine[]> {
    return logOf(await this.#stored());
  }

  /** The output in the store, in the same way. */
  async output(): Promise<readonly OutputPart[]> {
    return outputOf(await this.#stored());
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
  async #stored(): Promise<StoredTask> {
    await this.#world.stillness.settled();
    const stored = this.#world.tables.stored.get(this.id);
    assert.ok(
      stored !== undefined,
      `The store has task ${this.id} no more: its time was over. Look at it before t.clock.advance.`,
    );
    return stored;
  }

  #asked(key: JournalKey): ReturnType<TestQuestions["asked"]> {
    const { questions, stillness } = this.#world;
    const encoded = encodeJournalKey(key);
    return stillness.unlessStuck(
      questions.asked(this.id, encoded),
      () => `No question "${encoded}" was asked. ${this.#problem() ?? `Task ${this.id} has ended.`}`,
    );
  }

  #wait<T>(wanted: Promise<T>): Promise<T> {
    return this.#world.stillness.unlessStuck(wanted, () => this.#problem());
  }

  /** What the task waits for; undefined if it has ended and the client is about to learn of it. */
  #problem(): string | undefined {
    const { tables, now, down } = this.#world;
    const stored = tables.stored.get(this.id);
    if (stored !== undefined && isTerminal(stored.record.state)) return undefined;
    return down() ?? (stored === undefined ? undefined : describedWait(stored, now()));
  }
}
