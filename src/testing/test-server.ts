import type { TimeSpan } from "../task/time.ts";
import type { ClientCapabilities, FetchLike } from "@modelcontextprotocol/client";
import { McpServer, type Server } from "@modelcontextprotocol/server";
import { assertConnectOptions, type ConnectOptions } from "../client/connect-options.ts";
import type { ServerFactory } from "../server/author-server.ts";
import type { Identity } from "../server/http/http-options.ts";
import type { TasksOptions } from "../server/tasks-options.ts";
import { type Tasks, createTasksWith, type TestedBy } from "../server/tasks.ts";
import type { MemoryDatabase } from "../store/sqlite/memory-store.ts";
import { type CrashPoints, CrashableStore } from "./crashable-store.ts";
import { createFetchHandler, type FetchHandler } from "../server/http/fetch-handler.ts";
import { durableWith } from "../server/durable/durable.ts";
import type { TaskServer } from "../server/task-server.ts";
import type { OnStepRun } from "../runtime/services.ts";
import { type FakeClock, ProcessClock } from "./clocks.ts";
import { unlessAborted } from "../client/background-work.ts";
import { nextTurn } from "../runtime/wait-for.ts";

/** Options of `testTasks`: those of `createTasks` without the store, and these. */
export interface TestOptions extends Omit<TasksOptions, "store"> {
  /** Makes the server around the tools, as for `tasks.server`. Default: a server with nothing else. */
  readonly server?: ServerFactory<McpServer | Server>;
  /** The caller, as `authenticate` would return it. Default: callers are not told apart. */
  readonly caller?: Identity | string;
  /** The client's capabilities. Default: all that a tool can ask for. */
  readonly capabilities?: ClientCapabilities;
  /** The client's protocol version. Default 2026-07-28. Before 2025-11-25, clients name their tasks themselves (SEP-1686). */
  readonly protocolVersion?: ConnectOptions["protocolVersion"];
  /** Set it for a client that names its tasks itself (SEP-1686) in protocol 2025-11-25 too. */
  readonly generation?: ConnectOptions["generation"];
  /** How long a handler may work before `clock.advance` moves time anyway, in ms of real time. Default 1,000. */
  readonly settleMs?: TimeSpan;
  /**
   * How long a wait lasts while nothing happens, in ms of real time. Then it rejects and says what the task waits for: an answer, or time.
   * Default 2,000.
   */
  readonly patienceMs?: TimeSpan;
}

/** What the test's client is to speak. */
export function protocolOf({
  protocolVersion,
  generation,
}: Pick<TestOptions, "protocolVersion" | "generation">): Protocol {
  if (generation === undefined) return { protocolVersion: protocolVersion ?? "2026-07-28" };
  return { protocolVersion: protocolVersion ?? "2025-11-25", generation };
}

type Protocol = Pick<ConnectOptions, "protocolVersion" | "generation">;

/** JavaScript callers can pass anything: throws a TypeError that says what to pass. */
export function assertTested(
  tested: Register | DurableFactory,
  { server, ...options }: TestOptions,
): asserts tested is Register | DurableFactory {
  assertConnectOptions(protocolOf(options));
  if (typeof tested === "function") return;
  if (typeof tested !== "object" || tested === null || typeof tested.durable !== "function") {
    const isServer = typeof tested === "object" && tested !== null && "tasks" in tested;
    throw new TypeError(
      isServer
        ? "testTasks creates the server itself for each start, with its own store and clock. Pass the function that makes the server: testTasks({ durable: makeServer }, options)."
        : `testTasks takes a function that adds tools, since each start of the server calls it: testTasks((tasks) => addReport(tasks)), or testTasks({ durable: makeServer }). This is ${tested === null ? "null" : typeof tested}.`,
    );
  }
  if (server !== undefined) {
    throw new TypeError(
      "testTasks got two servers. durable already makes one, so leave out the option server.",
    );
  }
}

/** The server of a test: one process after another on a store that outlives them, and the connection to the live one. */
export class TestServer {
  readonly network = new LocalNetwork();
  readonly #setup: ProcessSetup;
  #store: CrashableStore;
  /** The live process; undefined while the server is down. */
  #process: TestProcess | undefined;
  #started = Promise.withResolvers<TestProcess>();

  constructor(setup: ProcessSetup, database: MemoryDatabase, crashPoints: CrashPoints) {
    this.#setup = setup;
    this.#store = new CrashableStore(undefined, database, {
      diesBefore: (command) => crashPoints.isBefore(command),
      diesAfter: (changes) => crashPoints.isAfter(changes),
      onDeath: () => this.#die(),
    });
  }

  get isDown(): boolean {
    return this.#process === undefined;
  }

  /** The tasks of the serving process, as soon as there is one. */
  async tasks(): Promise<Tasks> {
    return (await this.#started.promise).tasks;
  }

  async start(): Promise<void> {
    const process = await TestProcess.start(this.#setup, this.#store);
    this.#process = process;
    this.#started.resolve(process);
    this.network.connect(process.handler);
  }

  /** Dies without warning. */
  crash(): void {
    this.#store.crash();
  }

  /** Starts again on the same store, after an orderly stop if it runs. */
  async restart(): Promise<void> {
    await this.stop();
    this.#store = this.#store.successor();
    await this.start();
  }

  /** Stops in order. */
  async stop(): Promise<void> {
    const process = this.#process;
    this.#down();
    await process?.stop();
  }

  #die(): void {
    this.#process?.die();
    this.network.cut();
    this.#down();
  }

  #down(): void {
    if (this.#process !== undefined) this.#started = Promise.withResolvers();
    this.#process = undefined;
    this.network.disconnect();
  }
}

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
interface ProcessSetup {
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
class TestProcess {
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

/** A connection to one process. */
interface Line {
  readonly handler: Pick<FetchHandler, "fetch">;
  /** Aborts when the process dies. */
  readonly cut: AbortController;
}

/** Carries the requests of a test's client to the process that serves, without a socket. */
export class LocalNetwork {
  #line: Line | undefined;
  #connected = Promise.withResolvers<Line>();

  /** Requests go to this process from now on. */
  connect(handler: Pick<FetchHandler, "fetch">): void {
    const line = { handler, cut: new AbortController() };
    this.#line = line;
    this.#connected.resolve(line);
  }

  /** From now on, requests wait for the next process; those being answered continue. */
  disconnect(): void {
    if (this.#line !== undefined) this.#connected = Promise.withResolvers<Line>();
    this.#line = undefined;
  }

  /** The same, and breaks all connections after sent answers have arrived, as with a socket. */
  cut(): void {
    const line = this.#line;
    this.disconnect();
    void nextTurn().then(() => line?.cut.abort(broken()));
  }

  /** No process comes any more: what waits for one fails. */
  close(): void {
    this.#connected.promise.catch(() => undefined);
    this.#connected.reject(broken());
  }

  readonly fetch: FetchLike = async (url, init) => {
    const request = new Request(url, init);
    const { handler, cut } = await unlessAborted(this.#connected.promise, request.signal);
    const { body, status, headers } = await unlessAborted(handler.fetch(request), cut.signal);
    if (body === null) return new Response(null, { status, headers });
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    body.pipeTo(writable, { signal: cut.signal }).catch(() => undefined);
    return new Response(readable, { status, headers });
  };
}

/** The error of Node's `fetch` for a broken socket. */
function broken(): TypeError {
  return new TypeError("fetch failed", {
    cause: Object.assign(new Error("The server has crashed"), { code: "ECONNRESET" }),
  });
}
