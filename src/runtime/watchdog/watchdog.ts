import { Worker } from "node:worker_threads";
import { HoldfastError } from "../../task/fault.ts";
import { systemClock } from "../clock.ts";
import type { ServerEvents } from "../events/server-events.ts";
import type { BesideTasks } from "../runtime.ts";
import { beat, noteRunningCode, type FromWatcher, type ToWatcher, type Watch } from "./running-code.ts";

export interface WatchdogSetup {
  readonly watch: Omit<Watch, "id">;
  readonly events: ServerEvents | undefined;
  readonly onError: (error: unknown) => void;
}

/** Says when the event loop of this process did not answer, and why. One thread watches for all servers of a process. */
export class Watchdog implements BesideTasks {
  readonly #setup: WatchdogSetup;
  #end: () => void = () => undefined;

  constructor(setup: WatchdogSetup) {
    this.#setup = setup;
  }

  start(): void {
    const { watch, events, onError } = this.#setup;
    watcher ??= new Watcher();
    this.#end = watcher.watch(watch, (message) => {
      if (message.type === "blocked") {
        const { durationMs, by } = message;
        events?.emit({ type: "loop.blocked", durationMs, ...by });
      } else onError(new HoldfastError("configuration", message.problem));
    });
  }

  async stop(): Promise<void> {
    this.#end();
  }
}

/** Stays for the life of the process, idle while nobody watches. */
let watcher: Watcher | undefined;

/** Beats for each time in which the loop has to answer. */
const beatsPerLook = 5;

class Watcher {
  readonly #thread: Worker;
  readonly #watches = new Map<
    number,
    { readonly watch: Watch; readonly hear: (message: FromWatcher) => void }
  >();
  #ids = 0;
  #stopBeats: () => void = () => undefined;

  constructor() {
    this.#thread = new Worker(threadFile(), { workerData: noteRunningCode(), execArgv: [] });
    this.#thread.on("message", (message: FromWatcher) => this.#watches.get(message.id)?.hear(message));
    this.#thread.on("error", ({ message }) => {
      const problem = `Nothing watches the event loop any more: ${message}.`;
      for (const [id, { hear }] of this.#watches) hear({ type: "failed", id, problem });
    });
    this.#thread.unref();
  }

  /** Returns a function that ends it. */
  watch(given: Omit<Watch, "id">, hear: (message: FromWatcher) => void): () => void {
    const watch = { ...given, id: ++this.#ids };
    this.#watches.set(watch.id, { watch, hear });
    this.#send({ type: "watch", watch });
    this.#beat();
    return () => {
      if (!this.#watches.delete(watch.id)) return;
      this.#send({ type: "unwatch", id: watch.id });
      this.#beat();
    };
  }

  #send(message: ToWatcher): void {
    this.#thread.postMessage(message);
  }

  #beat(): void {
    this.#stopBeats();
    const shortest = Math.min(...[...this.#watches.values()].map(({ watch }) => watch.loopBlockedMs));
    this.#stopBeats =
      shortest === Infinity ? () => undefined : systemClock.every(shortest / beatsPerLook, beat);
  }
}

/** The thread runs the same kind of file as this one: the source under Node's own TypeScript, otherwise the build. */
function threadFile(): URL {
  return import.meta.url.endsWith(".ts")
    ? new URL("./watchdog-thread.ts", import.meta.url)
    : new URL("./watchdog-thread.js", import.meta.url);
}
