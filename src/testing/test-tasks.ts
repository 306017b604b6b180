import assert from "node:assert/strict";
import type { CallToolResult, ClientCapabilities } from "@modelcontextprotocol/client";
import { connectWith } from "../client/connect.ts";
import type { CallOptions, TaskClient } from "../client/task-client.ts";
import { memoryDatabase } from "../store/sqlite/memory-store.ts";
import { CommittedTasks } from "./committed-tasks.ts";
import { type JournalKey, encodeJournalKey } from "../task/journal.ts";
import { isTerminal } from "../task/outcome.ts";
import { CrashPoints, type CrashPoint } from "./crashable-store.ts";
import { describedWait, TestTask, type TestWorld } from "./test-task.ts";
import { FakeClock, IdleDetector, PatientClock } from "./clocks.ts";
import {
  assertTested,
  protocolOf,
  type TestOptions,
  type DurableFactory,
  type Register,
  TestServer,
} from "./test-server.ts";
import { TestQuestions, type TestAnswer } from "./test-questions.ts";
import { defaultSettings } from "../runtime/options.ts";
import { millisecondsOf, type TimeSpan } from "../task/time.ts";

/** The clock of a test's server and client: it stands still until the test moves it. */
export interface TestClock {
  /** Epoch milliseconds. */
  now(): number;
  /**
   * Moves time forward by `"90s"`, `"5m"`, `"48h"`, `"7d"` or milliseconds, and runs everything that becomes due on the way, in order.
   * Resolves when no handler works any more.
   */
  advance(span: TimeSpan): Promise<void>;
}

type ServerOptions = Omit<TestOptions, "capabilities" | "protocolVersion" | "generation">;

const everything: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: {},
};

/**
 * Starts a server with the tools that a function adds, and a client for it, in this process. The store is in memory and outlives the
 * server; the clock stands still. The function is called for each start, like the main module of a server. Works with any test runner. To
 * test a server on the SDK, pass its function with the same options: `testTasks({ durable: makeServer })`.
 *
 * ```ts
 * await using t = await testTasks((tasks) => addReport(tasks));
 * const crashed = t.crash({ after: "query" });
 * const task = await t.start("report", { month: "2026-10" });
 * await crashed;
 * await t.restart();
 * await task.result();
 * assert.equal(t.runs("query"), 1);
 * ```
 */
export async function testTasks(
  tested: Register | DurableFactory,
  options: TestOptions = {},
): Promise<TestTasks> {
  assertTested(tested, options);
  return TestTasks.start(tested, options);
}

/** A server and its client in a test. Made by `testTasks`. */
export class TestTasks implements AsyncDisposable {
  readonly #clock: FakeClock;
  readonly #database = memoryDatabase();
  readonly #committed = new CommittedTasks(this.#database);
  readonly #crashPoints = new CrashPoints(this.#committed);
  readonly #questions: TestQuestions;
  readonly #idleDetector: IdleDetector;
  readonly #runs = new StepRuns();
  readonly #server: TestServer;
  readonly #world: TestWorld;
  #client: TaskClient | undefined;

  private constructor(
    tested: Register | DurableFactory,
    { server, caller, settleMs = 1_000, patienceMs = 2_000, ...options }: ServerOptions,
  ) {
    const { maxBodyBytes = defaultSettings.maxBodyBytes } = options;
    this.#questions = new TestQuestions(maxBodyBytes, (...question) => this.#isOpen(...question));
    this.#idleDetector = new IdleDetector({
      committed: this.#committed,
      now: () => this.#clock.now(),
      isAnswered: (key) => this.#questions.isAnsweredAhead(key),
      settleMs: millisecondsOf(settleMs),
      patienceMs: millisecondsOf(patienceMs),
    });
    this.#clock = new FakeClock(undefined, () => this.#idleDetector.settled());
    const onStepRun = this.#runs.add.bind(this.#runs);
    const setup = { tested, options, factory: server, caller, clock: this.#clock, onStepRun };
    this.#server = new TestServer(setup, this.#database, this.#crashPoints);
    this.#world = {
      committed: this.#committed,
      idleDetector: this.#idleDetector,
      questions: this.#questions,
      crashPoints: this.#crashPoints,
      now: () => this.#clock.now(),
      down: () => (this.#server.isDown ? "The server is down: await t.restart()." : undefined),
      tasks: () => this.#server.tasks(),
      runs: (...which) => this.#runs.count(...which),
    };
  }

  /** @internal */
  static async start(
    tested: Register | DurableFactory,
    { capabilities = everything, protocolVersion, generation, ...options }: TestOptions,
  ): Promise<TestTasks> {
    const protocol = protocolOf({ protocolVersion, generation });
    const t = new TestTasks(tested, options);
    await t.#server.start();
    const { onInput, onEvent } = t.#questions;
    const { fetch } = t.#server.network;
    const connect = { ...protocol, fetch, capabilities, onInput, onEvent };
    t.#client = await connectWith("http://test/mcp", connect, new PatientClock(t.#clock));
    return t;
  }

  /** The clock of the server and the client. */
  get clock(): TestClock {
    const clock = this.#clock;
    return {
      now: () => clock.now(),
      advance: async (span) => clock.advance(millisecondsOf(span)),
    };
  }

  /** The client that calls. Use it for everything except tasks, such as listing tools. */
  get client(): TaskClient {
    assert.ok(this.#client !== undefined);
    return this.#client;
  }

  /**
   * Calls a tool, and returns as soon as there is a task. Rejects with an `AssertionError` if the call was answered without one, as for
   * invalid arguments.
   */
  async start(
    tool: string,
    args: Readonly<Record<string, unknown>> = {},
    options?: CallOptions,
  ): Promise<TestTask> {
    const handle = await this.#answered(tool, this.client.startTool(tool, args, options));
    if (handle.taskId !== null) return new TestTask(handle, handle.taskId, this.#world);
    const answer = JSON.stringify(await handle.result());
    assert.fail(
      `The call to "${tool}" created no task and was answered with ${answer}. For such tools, use t.call.`,
    );
  }

  /** Calls a tool and waits for its result, with or without a task. */
  async call(
    tool: string,
    args: Readonly<Record<string, unknown>> = {},
    options?: CallOptions,
  ): Promise<CallToolResult> {
    const handle = await this.#answered(tool, this.client.startTool(tool, args, options));
    return handle.taskId === null
      ? handle.result()
      : new TestTask(handle, handle.taskId, this.#world).result();
  }

  /**
   * From now on, answers questions with these keys, of all tasks: with an answer, or with the return value of a function of the question's
   * params.
   *
   * ```ts
   * t.answers({ approve: ({ message }) => ({ action: message === "Send 2 rows?" ? "accept" : "decline" }) });
   * ```
   */
  answers(answers: Readonly<Record<string, TestAnswer>>): void {
    this.#questions.answerAhead(answers);
  }

  /**
   * Kills the server without warning, like SIGKILL: at once, or at a point that a task reaches later. `{ after: "query" }`: right after the
   * result of step "query" was stored. `{ before: "query" }`: its function has run, and nothing is stored. The keys of sleeps, questions,
   * events and calls are points too. Resolves when the server is dead. Rejects with an `AssertionError` if nothing can reach the point any
   * more. What the dead server's code started outside of the store, such as a request in a step, continues, but its result goes nowhere.
   */
  crash(point?: CrashPoint): Promise<void> {
    if (point === undefined) {
      this.#server.crash();
      return Promise.resolve();
    }
    const crashed = this.#idleDetector.unlessStuck(this.#crashPoints.arm(point), () => this.#missed());
    crashed.catch(() => undefined); // a test may have failed before it waits
    return crashed;
  }

  /** Starts the server again on the same store. If it runs, it is first stopped in order. Calls of the client continue. */
  async restart(): Promise<void> {
    await this.#server.restart();
  }

  /** How often the function of this step ran, across all tasks and processes. */
  runs(key: JournalKey): number {
    return this.#runs.count(key);
  }

  /** Ends the client and the server. Rejects with an `AssertionError` if a crash point was not reached. */
  async close(): Promise<void> {
    await this[Symbol.asyncDispose]();
    const missed = this.#crashPoints.missed();
    if (missed !== undefined) assert.fail(missed);
  }

  /** The same for `await using`, but without the check of crash points: an error may have kept the test from reaching them. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.isDown) this.#server.network.close(); // or the end of the client's session waits for a server
    await this.#client?.close();
    await this.#server.stop();
  }

  async #answered<T>(tool: string, call: Promise<T>): Promise<T> {
    return this.#idleDetector.unlessStuck(call, () => {
      const [key] = this.#questions.open(null);
      if (key === undefined) return this.#world.down() ?? `The call to "${tool}" has not been answered.`;
      return `The call to "${tool}" asks "${key}" before there is a task: call t.answers({ ${key}: … }) first.`;
    });
  }

  /** Why nothing reaches a crash point. */
  #missed(): string | undefined {
    const waiting = this.#committed
      .records()
      .filter(({ state }) => !isTerminal(state))
      .map((task) => describedWait(task, this.#committed.entries(task.id), this.#clock.now()));
    const missed = this.#crashPoints.missed();
    if (missed === undefined) return undefined;
    return [missed, this.#world.down(), ...waiting].filter((text) => text !== undefined).join(" ");
  }

  #isOpen(taskId: string | null, wireKey: string): boolean {
    const id = taskId === null ? undefined : this.#committed.named(taskId)?.id;
    return id !== undefined && this.#committed.openInputs(id).some(({ key }) => key === wireKey);
  }
}

/** How often the functions of steps ran, over all processes. */
class StepRuns {
  /** By task and encoded key. */
  readonly #runs = new Map<string, Map<string, number>>();

  add(taskId: string, key: string): void {
    const runs = this.#runs.get(taskId) ?? new Map<string, number>();
    this.#runs.set(taskId, runs.set(key, (runs.get(key) ?? 0) + 1));
  }

  /** For one task, or for all. */
  count(key: JournalKey, taskId?: string): number {
    const tasks = taskId === undefined ? [...this.#runs.keys()] : [taskId];
    const encoded = encodeJournalKey(key);
    return tasks.reduce((sum, id) => sum + (this.#runs.get(id)?.get(encoded) ?? 0), 0);
  }
}
