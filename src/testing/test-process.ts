import { McpServer, type Server } from "@modelcontextprotocol/server";
import { createFetchHandler, type FetchHandler } from "../server/http/fetch-handler.ts";
import type { Identity } from "../server/http/http-options.ts";
import type { ServerFactory } from "../server/author-server.ts";
import { durableWith } from "../server/durable/durable.ts";
import type { TaskServer } from "../server/task-server.ts";
import { createTasksWith, type TestedBy, type Tasks } from "../server/tasks.ts";
import type { TasksOptions } from "../server/tasks-options.ts";
import type { OnStepRun } from "../runtime/services.ts";
import type { CrashableStore } from "./crashable-store.ts";
import type { FakeClock } from "./fake-clock.ts";
import { ProcessClock } from "./process-clock.ts";

/** Adds tools to the tasks of a process, as its main module does at the start. */
export type Register = (tasks: Tasks) => unknown;

/** A server on the SDK whose tools are durable. */
export interface DurableFactory {
  /** Makes the server, as for `durable`. */
  readonly durable: ServerFactory;
  /** Adds to `durable(…).tasks` what the server function does not. */
  readonly register?: Register;
}

/** The parts of each process of a test. */
export interface ProcessSetup {
  readonly tested: Register | DurableFactory;
  readonly options: Omit<TasksOptions, "store">;
  readonly factory?: ServerFactory<McpServer | Server> | undefined;
  readonly caller?: Identity | string | undefined;
  readonly clock: FakeClock;
  readonly onStepRun: OnStepRun;
}

/** Disables rate limits, since the clock of a test stands still. */
const unlimited = {
  callsPerMinute: null,
  listsPerMinute: null,
  missesPerMinute: null,
  pollsPerInterval: null,
  maxLoopDelayMs: null,
};

/** One life of a server: its tools, its timers, and a store that outlives it. */
export class TestProcess {
  readonly tasks: Tasks;
  readonly handler: FetchHandler;
  readonly #clock: ProcessClock;

  private constructor(tasks: Tasks, handler: FetchHandler, clock: ProcessClock) {
    this.tasks = tasks;
    this.handler = handler;
    this.#clock = clock;
  }

  static async start(
    { tested, options, factory, caller, clock: time, onStepRun }: ProcessSetup,
    { store }: CrashableStore,
  ): Promise<TestProcess> {
    const clock = new ProcessClock(time);
    const rates = { ...unlimited, ...options.rates };
    const all = { stopDeadlineMs: 1_000, ...options, rates, store };
    const { tasks, server } = await made(tested, factory, all, { clock, onStepRun });
    const handler = createFetchHandler(server, {
      allowedHosts: "any",
      ...(caller !== undefined && { authenticate: async () => caller }),
    });
    await server.start();
    return new TestProcess(tasks, handler, clock);
  }

  /** Its timers stop with it. */
  die(): void {
    this.#clock.end();
  }

  /** Stops in order, like a server on SIGTERM. */
  async stop(): Promise<void> {
    await this.handler.close();
    this.#clock.end();
  }
}

async function made(
  tested: Register | DurableFactory,
  factory: ServerFactory<McpServer | Server> | undefined,
  options: TasksOptions,
  testedBy: TestedBy,
): Promise<{ readonly tasks: Tasks; readonly server: TaskServer }> {
  if (typeof tested !== "function") {
    const server = durableWith(tested.durable, options, testedBy);
    await tested.register?.(server.tasks);
    return { tasks: server.tasks, server };
  }
  const tasks = createTasksWith(options, testedBy);
  await tested(tasks);
  return { tasks, server: tasks.server(factory ?? (() => new McpServer({ name: "test", version: "0" }))) };
}
