import { type ClaimingHandler, noTurns, withTurn, type Turns, hasHandler } from "../../task/queue.ts";
import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import { shortName } from "../../task/record-changes.ts";
import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import { isLost } from "../../store/lost-store.ts";
import type { Attempts } from "../execution/attempts.ts";
import type { LeakedHandlers } from "../execution/run-handler.ts";
import type { Services } from "../services.ts";
import type { Tool } from "../tool/tool.ts";
import { untilStoreAnswers } from "../observed-store.ts";
import type { NewerTasks, PausedTools } from "./newer-tasks.ts";
import { planClaimed, versionMissing, type ClaimPlan } from "./recovery.ts";
import { blockHeld } from "../blocking.ts";
import type { Slots } from "./slots.ts";
import { isDue, type Sweeper } from "./sweeper.ts";

/** Maximum number of tasks in one claim, so that transactions do not grow with the slots. */
const mostClaims = 100;

/** How much later than others a process looks for tasks if it has met some that only newer processes can run. */
const yieldedMs = 250;

export interface DispatcherSetup {
  readonly services: Services;
  readonly slots: Slots;
  readonly attempts: Attempts;
  readonly leaked: LeakedHandlers;
  readonly sweeper: Pick<Sweeper, "end" | "consider">;
  readonly newer: NewerTasks;
  readonly paused: PausedTools;
}

/** Claims queued tasks as slots become free, and starts their handlers. */
export class Dispatcher {
  readonly #setup: DispatcherSetup;
  readonly #starting = new Set<Promise<void>>();
  readonly #offers = new WorkOffers();
  readonly #closing = new AbortController();
  #yielding: (() => void) | undefined;
  #open = true;
  #running = false;
  /** Whether something has changed since the last look at slots and tasks began. */
  #again = false;
  /** True while tasks are known to wait for a slot, which a new task must not overtake. */
  #backlog = false;
  /** True if there may be tasks to claim. */
  #looks = false;
  /** True if more tasks may become claimable when another one has ended. */
  #heldBack = false;
  #turns: Turns = noTurns;
  /** Slots reserved for the next claim. */
  #kept = 0;

  constructor(setup: DispatcherSetup) {
    this.#setup = setup;
    setup.slots.onFree(() => this.#keepSlot());
    setup.leaked.onRoom(() => this.wake());
    setup.paused.onResumed(() => this.wake());
  }

  /** Takes a slot for a new task of the tool, unless it would overtake a waiting one, or only the store knows whether it may run. */
  tryTakeSlot(tool: Tool, principal: string | null): boolean {
    const { leaked, slots, paused } = this.#setup;
    const isBlocked = leaked.blocks(tool) || paused.has(tool.name);
    const mayRun = this.#open && !this.#backlog && this.runs(tool) && !isBlocked;
    if (!mayRun || tool.concurrency !== undefined || !slots.tryTake()) return false;
    this.#turns = withTurn(this.#turns, tool.priority ?? 0, principal);
    return true;
  }

  /**
   * Whether this process runs new tasks of the tool. Requests other than calls are answered where they came from; a stopping server leaves
   * calls to others.
   */
  runs(tool: Tool): boolean {
    return tool.raw === true || (this.#open && this.#setup.services.options.roles.includes("work"));
  }

  /** There may be tasks to claim: another owner has queued one, or is gone. */
  wake(): void {
    const { newer, services } = this.#setup;
    if (!newer.yields) return this.#look();
    // Processes with newer versions are notified too, and take what only they can run.
    this.#yielding ??= services.clock.after(yieldedMs, () => {
      this.#yielding = undefined;
      this.#look();
    });
  }

  /** As `wake`, for tasks that no other process was notified of. Resolves with false if others must be notified. */
  takeWork(tasks: number): Promise<boolean> {
    const tookAll = this.#offers.make(tasks);
    this.wake();
    if (!this.#running) this.#offers.onEnd();
    return tookAll;
  }

  #look(): void {
    this.#looks = true;
    this.#pump();
  }

  /** A task of the tool was queued for this owner. */
  queued(tool: Tool): void {
    if (tool.concurrency !== undefined) return this.wake(); // there may be no room for it
    this.#backlog = true;
    this.#pump();
  }

  /** This owner has changed tasks, so a task of a handler with a limit may be able to run now. */
  changed(): void {
    if (this.#heldBack) this.wake();
  }

  /** Starts no more tasks. */
  pause(): void {
    this.#open = false;
    this.#yielding?.();
  }

  /** Starts tasks again. */
  goOn(): void {
    this.#open = true;
    this.#look();
  }

  /** Starts no more tasks. Resolves when starts in progress have ended. */
  async close(): Promise<void> {
    this.pause();
    this.#closing.abort(new HoldfastError("stopping", "The server is stopping."));
    // A start that ends here may have begun a run, which is waited for too.
    while (this.#starting.size > 0) await Promise.all(this.#starting);
  }

  /** Runs a task that already holds its token and a slot. If its request is passed, it need not be read. */
  run(task: TaskRecord, tool: Tool, request?: TaskRequest): void {
    this.#track(this.#setup.attempts.run(task, tool, request));
  }

  /** False if no task is known to wait for a slot. */
  #keepSlot(): boolean {
    if (!this.#open || !this.#backlog) return false;
    this.#kept++;
    this.#pump();
    return true;
  }

  #takeSlot(): boolean {
    if (this.#kept === 0) return this.#setup.slots.tryTake();
    this.#kept--;
    return true;
  }

  get #hasSlot(): boolean {
    return this.#kept > 0 || this.#setup.slots.hasFree;
  }

  #pump(): void {
    const hasWork = this.#backlog ? this.#hasSlot : this.#looks;
    if (!this.#open || !hasWork) return;
    this.#again = true;
    if (this.#running) return;
    this.#running = true;
    this.#again = false;
    this.#track(
      this.#claimAll().finally(() => {
        this.#running = false;
        if (this.#again) this.#pump();
        if (!this.#running) this.#rest();
      }),
    );
  }

  #rest(): void {
    this.#offers.onEnd();
    const kept = this.#kept;
    this.#kept = 0;
    for (let given = 0; given < kept; given++) this.#setup.slots.give();
  }

  /** Claims as long as there are slots and tasks. */
  async #claimAll(): Promise<void> {
    while (this.#open && (this.#backlog || this.#looks)) {
      if (this.#backlog && !this.#hasSlot) return;
      this.#offers.onLook();
      const { services, leaked, paused } = this.#setup;
      const startable = new StartableTools(services, leaked, paused);
      const { handlers } = startable;
      if (handlers.length === 0) {
        this.#backlog = false; // until a tool may start handlers again, or another change
        this.#looks = false;
        return;
      }
      // From before the store is asked: a notification of what ends meanwhile may arrive before the answer.
      this.#heldBack = handlers.some(({ concurrency }) => concurrency !== undefined);
      if (!(await this.#findsWork(handlers))) {
        this.#offers.onClaimed(0, 1);
        continue;
      }
      const tokens = this.#takeSlots();
      if (tokens.length === 0) {
        this.#backlog = true;
        return;
      }
      if (!(await this.#claim(startable, tokens))) return;
    }
  }

  /** Looking costs only a read, while a claim would wait for the writers of other processes. */
  async #findsWork(handlers: readonly ClaimingHandler[]): Promise<boolean> {
    if (this.#backlog) return true;
    const { services } = this.#setup;
    this.#looks = false;
    return untilStoreAnswers(() => services.store.hasClaimable(handlers), services, this.#closing.signal);
  }

  #takeSlots(): readonly string[] {
    const { clock } = this.#setup.services;
    const most = this.#backlog ? mostClaims : 1;
    const tokens: string[] = [];
    while (tokens.length < most && this.#takeSlot()) tokens.push(shortName(clock));
    return tokens;
  }

  /** Uses the slots of these tokens. False if the server stops: then the tasks stay queued. */
  async #claim(startable: StartableTools, tokens: readonly string[]): Promise<boolean> {
    const { services, slots } = this.#setup;
    const { store, clock, unreadable, onError } = services;
    const { handlers } = startable;
    // What is queued while the claim is under way may come too late for it.
    this.#backlog = false;
    let free = tokens.length;
    try {
      const claim = () =>
        store.write({ type: "claim", now: clock.now(), handlers, tokens, turns: this.#turns });
      const claimed = await untilStoreAnswers(claim, services, this.#closing.signal);
      for (const { id, problem } of claimed.unreadable) {
        unreadable.report(id, new HoldfastError("task_unreadable", problem));
      }
      this.#turns = claimed.turns;
      this.#heldBack = claimed.heldBack;
      free -= claimed.tasks.length;
      this.#offers.onClaimed(claimed.tasks.length, tokens.length);
      if (free === 0) this.#backlog = true;
      for (const task of claimed.tasks) this.#track(this.#begin(task, startable));
      return true;
    } catch (error) {
      // Lost for good, which is reported once, elsewhere: notifications of what others queue keep coming, and each would fail again.
      if (isLost(error)) this.pause();
      else if (!this.#closing.signal.aborted) onError(error);
      return false;
    } finally {
      for (; free > 0; free--) slots.give();
    }
  }

  async #begin(task: TaskRecord, startable: StartableTools): Promise<void> {
    const { services, attempts, slots, newer } = this.#setup;
    const tool = services.registry.handlerOf(task) ?? startable.of(task);
    const plan = tool && planClaimed(task, tool, services.options, isDue(task, services.clock));
    if (plan?.do === "run") return attempts.run(task, plan.tool);
    try {
      if (tool === undefined || plan === undefined)
        throw new HoldfastError("internal", `This process has no handler for ${task.tool}.`);
      const until = plan.do === "leave" ? newer.pauseUntil(task, tool) : 0;
      const end = () => (plan.do === "leave" ? this.#leave(task, tool, until) : this.#end(task, plan));
      await untilStoreAnswers(end, services, this.#closing.signal);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      services.unreadable.report(task.id, error);
    } finally {
      slots.give();
    }
  }

  /** To processes with newer versions, which may come soon, or never. */
  async #leave(task: TaskRecord, tool: Tool, until: number): Promise<void> {
    const { services, newer, sweeper } = this.#setup;
    const { store, clock, options } = services;
    const { id, token } = task;
    if (token === null) return;
    const isMissing = newer.isMissing(task, tool, options.unregisteredGraceMs);
    const result = isMissing
      ? await store.write(blockHeld(versionMissing(task, tool), { ...task, token }, services, true))
      : await store.write({ type: "release", now: clock.now(), id, token, until });
    if (result.ok) sweeper.consider(result.task.runAfter);
  }

  async #end(task: TaskRecord, plan: Exclude<ClaimPlan, { do: "run" | "leave" }>): Promise<void> {
    const { services, sweeper } = this.#setup;
    const { store, clock } = services;
    const { id, token } = task;
    const now = clock.now();
    if (plan.do === "end") await sweeper.end(task.id);
    else if (plan.do === "cancel") await store.write({ type: "cancel", now, id });
    else if (token !== null) await store.write({ type: "settle", now, id, token, ...plan.ending });
  }

  #track(work: Promise<void>): void {
    const { onError } = this.#setup.services;
    const failed = (error: unknown): void => {
      if (!this.#closing.signal.aborted) onError(error);
    };
    const watched = work.catch(failed).finally(() => this.#starting.delete(watched));
    this.#starting.add(watched);
  }
}

/** The tools that could start handlers at the time of a claim. One that is removed meanwhile still runs what was claimed for it. */
export class StartableTools {
  readonly handlers: readonly ClaimingHandler[];
  readonly #tools = new Map<ClaimingHandler, Tool>();

  constructor(
    { registry, options }: Pick<Services, "registry" | "options">,
    leaked: LeakedHandlers,
    paused: PausedTools,
  ) {
    for (const name of registry.handlers(options.roles)) {
      const tool = registry.handlerOf(name);
      if (tool === undefined || leaked.blocks(tool) || paused.has(tool.name)) continue;
      const { priority = 0, concurrency, version } = tool;
      this.#tools.set(
        { ...name, priority, version, ...(concurrency !== undefined && { concurrency }) },
        tool,
      );
    }
    this.handlers = [...this.#tools.keys()];
  }

  /** The tool for a claimed task. */
  of(task: TaskRecord): Tool | undefined {
    const handler = this.handlers.find((each) => hasHandler([each], task));
    return handler && this.#tools.get(handler);
  }
}

interface Offer {
  readonly answer: (tookAll: boolean) => void;
  /** The number of offered tasks that this process is not known to have claimed. */
  missing: number;
}

/**
 * Work that no other process was notified of. Each offer resolves with whether this process took all of it. If it took less, or there may
 * be more than it can take at once, others must be notified.
 */
export class WorkOffers {
  #made: Offer[] = [];
  /** Offers covered by the look in progress. */
  #looked: Offer[] = [];

  /** Offers at least this many tasks. */
  make(tasks: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#made.push({ answer: resolve, missing: tasks });
    return promise;
  }

  /** Call it before asking the store: later offers may be about tasks that the store has passed by then. */
  onLook(): void {
    this.#looked.push(...this.#made);
    this.#made = [];
  }

  /** The store returned `claimed` tasks when asked for `most`. */
  onClaimed(claimed: number, most: number): void {
    let taken = claimed;
    for (const offer of [...this.#looked, ...this.#made]) {
      const ofOffer = Math.min(taken, offer.missing);
      offer.missing -= ofOffer;
      taken -= ofOffer;
    }
    if (claimed < most) this.#answer(({ missing }) => missing === 0);
    else if (most > 1) this.#answer(() => false); // too many for one process to be left to it
  }

  /** No more claims for now. */
  onEnd(): void {
    this.onLook();
    this.#answer(() => false);
  }

  #answer(answer: (offer: Offer) => boolean): void {
    const answered = this.#looked;
    this.#looked = [];
    for (const offer of answered) offer.answer(answer(offer));
  }
}
