import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import { HoldfastError } from "../../task/fault.ts";
import { isTerminal } from "../../task/status.ts";
import type { Attempts } from "../execution/attempts.ts";
import type { LeakedHandlers } from "../execution/leaked-handlers.ts";
import type { TaskHolder } from "../changed-tasks.ts";
import type { Services } from "../services.ts";
import type { Slots } from "./slots.ts";
import type { Tool } from "../tool/tool.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";

/** Brings queued tasks to handlers, oldest first, as slots come free: dispatch inside one process. */
export class Dispatcher implements TaskHolder {
  readonly #services: Services;
  readonly #slots: Slots;
  readonly #attempts: Attempts;
  readonly #leaked: LeakedHandlers;
  readonly #queue = new Map<string, Tool>();
  /** What waits until its tool may start handlers again. */
  readonly #blocked = new Map<Tool, Set<string>>();
  readonly #starting = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #open = true;

  constructor(services: Services, slots: Slots, attempts: Attempts, leaked: LeakedHandlers) {
    this.#services = services;
    this.#slots = slots;
    this.#attempts = attempts;
    this.#leaked = leaked;
    slots.onFree(() => this.#pump());
    leaked.onRoom((tool) => this.#unblock(tool));
  }

  /** Takes a slot for a new task of the tool, unless that would pass one that waits. */
  tryTakeSlot(tool: Tool): boolean {
    return this.#open && this.#queue.size === 0 && !this.#leaked.blocks(tool) && this.#slots.tryTake();
  }

  enqueue(id: string, tool: Tool): void {
    this.#queue.set(id, tool);
    this.#pump();
  }

  held(): Iterable<string> {
    return [...this.#queue.keys(), ...[...this.#blocked.values()].flatMap((ids) => [...ids])];
  }

  /** At its first version a task was just made, and waits. */
  isBehind(id: string, version: number): boolean {
    return version > 1 && (this.#queue.has(id) || [...this.#blocked.values()].some((ids) => ids.has(id)));
  }

  /**
   * What was cancelled or has expired waits no more: else a server whose slots are taken for long would hold the id of
   * every task that was called and cancelled meanwhile.
   */
  saw(id: string, task: TaskRecord | undefined): void {
    if (task !== undefined && !isTerminal(task.state)) return;
    this.#queue.delete(id);
    for (const ids of this.#blocked.values()) ids.delete(id);
  }

  /** Starts nothing more. */
  pause(): void {
    this.#open = false;
  }

  /** Starts nothing more; resolves when starts that are under way have come to their end. */
  async close(): Promise<void> {
    this.pause();
    this.#closing.abort(new HoldfastError("stopping", "The server stops."));
    // A start that ends here may have begun a run, which is waited for too.
    while (this.#starting.size > 0) await Promise.all(this.#starting);
  }

  /** Hands over a task that already runs under its token, with a slot taken; with its request, it need not be read. */
  run(task: TaskRecord, tool: Tool, request?: TaskRequest): void {
    this.#track(this.#attempts.run(task, tool, request));
  }

  #pump(): void {
    while (this.#open) {
      const id = this.#next();
      if (id === undefined || !this.#slots.tryTake()) return;
      this.#queue.delete(id);
      this.#track(this.#start(id));
    }
  }

  /** The oldest task whose tool may start handlers; those before it are put aside. */
  #next(): string | undefined {
    for (const [id, tool] of this.#queue) {
      if (!this.#leaked.blocks(tool)) return id;
      this.#queue.delete(id);
      this.#blocked.set(tool, (this.#blocked.get(tool) ?? new Set()).add(id));
    }
    return undefined;
  }

  /** Puts the tasks of a tool back into the queue, before those that came after them. */
  #unblock(tool: Tool): void {
    const ids = this.#blocked.get(tool) ?? [];
    this.#blocked.delete(tool);
    const later = [...this.#queue];
    this.#queue.clear();
    for (const id of ids) this.#queue.set(id, tool);
    for (const [id, other] of later) this.#queue.set(id, other);
    this.#pump();
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
