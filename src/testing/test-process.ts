import { McpServer } from "@modelcontextprotocol/server";
import { createFetchHandler, type FetchHandler } from "../server/http/fetch-handler.ts";
import type { Identity } from "../server/http/http-options.ts";
import type { ServerFactory } from "../server/author-server.ts";
import { createTasksWith, type Tasks, type TasksOptions } from "../server/tasks.ts";
import type { OnStepRun } from "../runtime/services.ts";
import type { CrashableStore } from "./crashable-store.ts";
import type { FakeClock } from "./fake-clock.ts";
import { ProcessClock } from "./process-clock.ts";

/** Adds tools to the tasks of a process, as its main module does when it starts. */
export type Register = (tasks: Tasks) => unknown;

/** What each process of a test is made of. */
export interface ProcessSetup {
  readonly register: Register;
  readonly options: Omit<TasksOptions, "store">;
  readonly factory?: ServerFactory | undefined;
  readonly caller?: Identity | string | undefined;
  readonly clock: FakeClock;
  readonly onStepRun: OnStepRun;
}

/** No request of a test comes too fast, since its clock stands still. */
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
    { register, options, factory, caller, clock: time, onStepRun }: ProcessSetup,
    { store }: CrashableStore,
  ): Promise<TestProcess> {
    const clock = new ProcessClock(time);
    const rates = { ...unlimited, ...options.rates };
    const tasks = createTasksWith({ stopDeadlineMs: 1_000, ...options, rates, store }, { clock, onStepRun });
    await register(tasks);
    const server = tasks.server(factory ?? (() => new McpServer({ name: "test", version: "0" })));
    const handler = createFetchHandler(server, {
      allowedHosts: "any",
      ...(caller !== undefined && { authenticate: async () => caller }),
    });
    await tasks.start();
    return new TestProcess(tasks, handler, clock);
  }

  /** Its timers are gone with it. */
  die(): void {
    this.#clock.end();
  }

  /** Ends in order, as a server does on SIGTERM. */
  async stop(): Promise<void> {
    await this.handler.close();
    this.#clock.end();
  }
}
