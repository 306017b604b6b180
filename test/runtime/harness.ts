import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { ServerEvent } from "../../src/runtime/events/server-event.ts";
import { ServerEvents, type OnEvent } from "../../src/runtime/events/server-events.ts";
import type { RuntimeOptions } from "../../src/runtime/options.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { ProcessCounts } from "../../src/runtime/reports/process-counts.ts";
import type { ServerTelemetry } from "../../src/runtime/telemetry/telemetry.ts";
import type { Requestor, Runtime, TaskCall } from "../../src/runtime/runtime.ts";
import type { TaskCaller } from "../../src/runtime/tool/task-caller.ts";
import type { HandlerModule } from "../../src/runtime/threads/worker-options.ts";
import type { ToolConfig, ToolHandler } from "../../src/runtime/tool/tool.ts";
import type { Blobs } from "../../src/store/blobs.ts";
import type { TaskStore } from "../../src/store/store.ts";
import type { TaskSnapshot } from "../../src/task/record.ts";
import { type Outcome, isTerminal } from "../../src/task/outcome.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { watchedStore, type BeforeCall } from "./watched-store.ts";

export type Handler = ToolHandler<Record<string, unknown>>;

export interface Setup {
  readonly tools: Record<
    string,
    | Handler
    | { config: ToolConfig<undefined>; handler: Handler }
    | { config: ToolConfig<undefined> & { readonly worker: HandlerModule }; handler?: undefined }
  >;
  readonly options?: RuntimeOptions;
  /** Comes before each call that the runtime makes of its store; `process.store` goes past it. */
  readonly before?: BeforeCall;
  /** That of a store which tells one process of work, and not all. */
  readonly onWork?: NonNullable<TaskStore["onWork"]>;
  /** Whether `events` has what is told; or who else hears of it. */
  readonly onEvent?: true | OnEvent;
  readonly telemetry?: ServerTelemetry;
  /** Where artifacts are, if not in the store. */
  readonly blobs?: Blobs;
  /** Whether it reports to the store, as a server does. */
  readonly reports?: true;
}

/** A caller who is not told apart from others. */
export const nobody: Requestor = { generation: "2026-07-28", principal: null };

/** The same as a handler sees it. */
export const anonymous: TaskCaller = { principal: null, claims: {} };

/** Not the user's folder, where programs of other suites are: a process reads the task of each, and tests count what it reads. */
const noPrograms = join(tmpdir(), "holdfast-no-programs");

/** A process of its own, as far as a runtime can tell: its tools, its clock, and a store that outlives it. */
export class Process {
  readonly clock: FakeClock;
  readonly runtime: Runtime;
  readonly errors: unknown[] = [];
  readonly events: ServerEvent[] = [];
  readonly #store: CrashableStore;

  constructor(setup: Setup, clock = new FakeClock(), store?: CrashableStore) {
    this.clock = clock;
    this.#store = store ?? new CrashableStore();
    const registry = new Registry();
    for (const [name, tool] of Object.entries(setup.tools)) {
      if (typeof tool === "function") registry.add(name, {}, tool);
      else registry.add(name, tool.config, tool.handler);
    }
    const { store: inner } = this.#store;
    const { before, onWork, onEvent } = setup;
    const isOwn = before === undefined && onWork === undefined;
    const onError = (error: unknown): void => void this.errors.push(error);
    const hears = onEvent === true ? (event: ServerEvent) => this.events.push(event) : onEvent;
    this.runtime = createRuntime({
      store: isOwn ? inner : watchedStore(inner, before, onWork),
      registry,
      clock,
      onError,
      events: hears && new ServerEvents({ listeners: [hears], clock, onError }),
      telemetry: setup.telemetry,
      blobs: setup.blobs,
      counts: setup.reports && new ProcessCounts(clock),
      options: { execFolder: noPrograms, ...setup.options },
    });
  }

  get store(): TaskStore {
    return this.#store.store;
  }

  static async started(setup: Setup): Promise<Process> {
    const process = new Process(setup);
    await process.runtime.start();
    return process;
  }

  /** Dies without a word; the next process finds the same store. */
  async crash(setup: Setup): Promise<Process> {
    this.#store.crash();
    return this.#next(setup);
  }

  /** Stops in order; the next process finds the same store. */
  async restart(setup: Setup): Promise<Process> {
    await this.runtime.stop();
    return this.#next(setup);
  }

  call(tool: string, more: Partial<TaskCall> = {}): Promise<TaskSnapshot> {
    return this.runtime.create({
      generation: "2026-07-28",
      tool,
      arguments: {},
      principal: null,
      origin: { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
      ...more,
    });
  }

  async callId(tool: string, more: Partial<TaskCall> = {}): Promise<string> {
    return (await this.call(tool, more)).task.id;
  }

  get(id: string): Promise<TaskSnapshot> {
    return this.runtime.get(id, nobody);
  }

  cancel(id: string): Promise<void> {
    return this.runtime.cancel(id, nobody);
  }

  /** Runs a tool without a task. */
  runInline(name: string): Promise<Outcome> {
    const tool = this.runtime.registry.get(name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    const ask = (): Promise<never> => Promise.reject(new Error("nobody to ask"));
    const { signal } = new AbortController();
    return this.runtime.runInline({ tool, arguments: {}, signal, ask, caller: anonymous });
  }

  /** Resolves once an entry of the task's journal is committed. */
  async journalHas(id: string, key: string): Promise<void> {
    for (let round = 0; round < 500; round++) {
      if ((await this.#store.store.journalEntry(id, key)) !== undefined) return;
      await rest();
    }
    throw new Error(`The journal of ${id} has no "${key}"`);
  }

  answer(id: string, key: string, value: object): Promise<void> {
    return this.runtime.answer(id, nobody, [{ key, value: JSON.stringify(value) }]);
  }

  /** Resolves with the task once `wanted` holds for it. */
  async until(
    id: string,
    wanted: (snapshot: TaskSnapshot) => boolean,
    requestor = nobody,
  ): Promise<TaskSnapshot> {
    for (let round = 0; round < 500; round++) {
      const snapshot = await this.runtime.get(id, requestor);
      if (wanted(snapshot)) return snapshot;
      await rest();
    }
    throw new Error(`Task ${id} did not come to what was waited for: ${JSON.stringify(await this.get(id))}`);
  }

  ended(id: string): Promise<TaskSnapshot> {
    return this.until(id, ({ task }) => isTerminal(task.state));
  }

  asked(id: string, questions = 1): Promise<TaskSnapshot> {
    return this.until(id, ({ inputs }) => inputs.length === questions);
  }

  async #next(setup: Setup): Promise<Process> {
    const next = new Process(setup, this.clock, this.#store.successor());
    await next.runtime.start();
    return next;
  }
}

export function text(value: string): CallToolResult {
  return { content: [{ type: "text", text: value }] };
}

export function bodyOf({ outcome }: TaskSnapshot): Record<string, unknown> {
  if (outcome === null) throw new Error("The task has no outcome yet.");
  return JSON.parse(outcome.body) as Record<string, unknown>;
}
