import type { TaskChange } from "../../store/store.ts";
import type { TaskRecord } from "../../task/record.ts";
import { HoldfastError } from "../../task/fault.ts";
import { isTerminal } from "../../task/status.ts";
import { transitions } from "../../task/transition.ts";
import type { Attempts } from "../attempt/attempts.ts";
import type { Services } from "../services.ts";
import type { Slots } from "./slots.ts";
import type { Tool } from "../tool/tool.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";

/** Brings queued tasks to handlers, oldest first, as slots come free: dispatch inside one process. */
export class Dispatcher {
  readonly #services: Services;
  readonly #slots: Slots;
  readonly #attempts: Attempts;
  readonly #queue = new Set<string>();
  readonly #starting = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #open = true;

  constructor(services: Services, slots: Slots, attempts: Attempts) {
    this.#services = services;
    this.#slots = slots;
    this.#attempts = attempts;
    slots.onFree(() => this.#pump());
  }

  /** True where a new task may start at once, without passing one that waits. */
  get idle(): boolean {
    return this.#open && this.#queue.size === 0;
  }

  enqueue(id: string): void {
    this.#queue.add(id);
    this.#pump();
  }

  /**
   * What was cancelled or has expired waits no more: else a server whose slots are taken for long would hold the id of
   * every task that was called and cancelled meanwhile.
   */
  onChanges(changes: readonly TaskChange[]): void {
    if (this.#queue.size === 0) return;
    for (const { id, event } of changes) if (isEnd(event)) this.#queue.delete(id);
  }

  /** Starts nothing more; resolves when starts that are under way have come to their end. */
  async close(): Promise<void> {
    this.#open = false;
    this.#closing.abort(new HoldfastError("stopping", "The server stops."));
    // A start that ends here may have begun a run, which is waited for too.
    while (this.#starting.size > 0) await Promise.all(this.#starting);
  }

  /** Hands over a task that already runs under its token, with a slot taken. */
  run(task: TaskRecord, tool: Tool): void {
    this.#track(this.#attempts.run(task, tool));
  }

  #pump(): void {
    while (this.#open && this.#queue.size > 0 && this.#slots.tryTake()) {
      const [id] = this.#queue;
      if (id === undefined) return;
      this.#queue.delete(id);
      this.#track(this.#start(id));
    }
  }

  async #start(id: string): Promise<void> {
    const { store, clock, onError } = this.#services;
    const start = () => store.write({ type: "start", now: clock.now(), id, token: clock.uniqueName() });
    try {
      const result = await untilStoreAnswers(start, this.#services, this.#closing.signal);
      const tool = result.ok ? this.#services.registry.handlerOf(result.task) : undefined;
      if (result.ok && tool !== undefined) this.run(result.task, tool);
      else this.#slots.give(); // cancelled or expired while it was queued
    } catch (error) {
      this.#slots.give(); // the server stops; the task stays queued
      if (!this.#closing.signal.aborted) onError(error);
    }
  }

  #track(work: Promise<void>): void {
    const watched = work.catch(this.#services.onError).finally(() => this.#starting.delete(watched));
    this.#starting.add(watched);
  }
}

function isEnd(event: TaskChange["event"]): boolean {
  if (event === "create") return false;
  if (event === "delete") return true;
  const { to } = transitions[event];
  return to !== "same" && isTerminal(to);
}
