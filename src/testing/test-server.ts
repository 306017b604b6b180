import type { Tasks } from "../server/tasks.ts";
import type { MemoryDatabase } from "../store/memory/memory-database.ts";
import type { CrashPoints } from "./crash-points.ts";
import { CrashableStore } from "./crashable-store.ts";
import { LocalNetwork } from "./local-network.ts";
import { TestProcess, type ProcessSetup } from "./test-process.ts";

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
