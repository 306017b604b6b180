import { HoldfastError } from "../../task/fault.ts";
import type { Clock } from "../clock.ts";
import type { ServerEvents } from "../events/server-events.ts";
import type { RuntimeSettings } from "../options.ts";
import type { Tool } from "../tool/tool.ts";
import { waitFor, whenAborted } from "../wait-for.ts";
import type { Run } from "../journal/run.ts";

export interface LeakedHandlersSetup {
  readonly clock: Clock;
  readonly options: Pick<RuntimeSettings, "cancelGraceMs" | "maxLeakedHandlers">;
  readonly onError: (error: unknown) => void;
  readonly events?: ServerEvents | undefined;
}

/**
 * Handlers that continue although their signal has aborted and their task, or their direct run, has ended. Nothing can end them, so after a
 * grace period their slots are freed. A tool with too many of them starts no more, because each holds memory.
 */
export class LeakedHandlers {
  readonly #setup: LeakedHandlersSetup;
  /** By tool, across its versions. */
  readonly #counts = new Map<string, number>();
  readonly #watched = new Set<AbortController>();
  #stopped = false;
  #onRoom: (tool: Tool) => void = () => undefined;

  constructor(setup: LeakedHandlersSetup) {
    this.#setup = setup;
  }

  /** Called when a tool may start handlers again. */
  onRoom(listener: (tool: Tool) => void): void {
    this.#onRoom = listener;
  }

  /** The number of leaked handlers by tool. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Whether the tool has too many of them to start another. */
  blocks(tool: Tool): boolean {
    return (this.#counts.get(tool.name) ?? 0) >= this.#setup.options.maxLeakedHandlers;
  }

  /** Frees the slot of a handler once it has leaked, and calls `onLeak`. Returns a function to call when it ends. */
  watch(run: Run, tool: Tool, onLeak: () => void): () => void {
    // Most handlers end before their signal aborts.
    let over: AbortController | undefined;
    let leaked = false;
    const stopListening = whenAborted(run.signal, () => {
      if (this.#stopped) return;
      const watched = new AbortController();
      over = watched;
      this.#watched.add(watched);
      const leak = (): void => {
        if (watched.signal.aborted) return;
        leaked = true;
        this.#count(tool, run.setup.taskId);
        onLeak();
      };
      this.#untilLeaked(run, watched.signal).then(leak, () => undefined);
    });
    return () => {
      stopListening();
      if (over !== undefined && this.#watched.delete(over)) over.abort();
      if (leaked) this.#uncount(tool);
    };
  }

  /** Stops watching: the process ends, and the handlers with it. */
  stop(): void {
    this.#stopped = true;
    for (const over of this.#watched) over.abort();
  }

  /** Starts when the signal aborts. Rejects when `over` aborts. */
  async #untilLeaked(run: Run, over: AbortSignal): Promise<void> {
    const { clock, options } = this.#setup;
    const grace = () => waitFor((done) => clock.after(options.cancelGraceMs, done), over);
    await grace();
    await waitFor((done) => whenAborted(run.life.over, done), over);
    // A handler that waits for its slot could not react to the abort: it continues without one, with the grace period.
    if (!run.freeSlot()) await grace();
  }

  #count(tool: Tool, taskId: string): void {
    const count = (this.#counts.get(tool.name) ?? 0) + 1;
    this.#counts.set(tool.name, count);
    const { onError, options, events } = this.#setup;
    events?.emit({ type: "handler.leaked", taskId, tool: tool.name, handlers: count });
    const handlers = count === 1 ? "1 handler" : `${count} handlers`;
    onError(
      new HoldfastError(
        "handler_leaked",
        `Tool "${tool.name}" has ${handlers} still running although the attempt has ended, or the caller of a direct run has left. Make the handler stop when task.signal aborts. Once there are ${options.maxLeakedHandlers} of them, no more handlers of this tool start until some have ended.`,
      ),
    );
  }

  #uncount(tool: Tool): void {
    const blocked = this.blocks(tool);
    const count = (this.#counts.get(tool.name) ?? 0) - 1;
    if (count > 0) this.#counts.set(tool.name, count);
    else this.#counts.delete(tool.name);
    if (blocked) this.#onRoom(tool);
  }
}
