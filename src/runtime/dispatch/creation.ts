import { HoldfastError } from "../../task/fault.ts";
import { cutOff, stopping } from "../../task/unanswered.ts";
import type { WireName } from "../../store/store.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import { shortName } from "../../task/record-changes.ts";
import { assertScopes } from "../../task/scopes.ts";
import type { Deadline } from "../clock.ts";
import type { Attempts } from "../execution/attempts.ts";
import type { LeakedHandlers } from "../execution/run-handler.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { newTask, type FreshTask } from "../execution/call-tool.ts";
import { RunTrace } from "../telemetry/telemetry.ts";
import { DirectRun } from "../execution/direct-run.ts";
import type { CallEnd, TaskCall } from "../runtime.ts";
import type { Services } from "../services.ts";
import type { Slots } from "./slots.ts";
import { isGone, type Sweeper } from "./sweeper.ts";
import type { Timers } from "../timers.ts";
import { taskCaller } from "../tool/task-caller.ts";
import { credentialsOf, type Credentials } from "../tool/received-request.ts";
import type { Tool } from "../tool/tool.ts";
import type { Quota } from "../../task/queue.ts";
import type { RuntimeSettings } from "../options.ts";

export interface CreationSetup {
  readonly services: Services;
  readonly slots: Slots;
  readonly leaked: LeakedHandlers;
  readonly timers: Timers;
  readonly sweeper: Sweeper;
  readonly attempts: Attempts;
  readonly dispatcher: Dispatcher;
  readonly credentials: Credentials;
}

/** Creates tasks for calls. */
export class Creation {
  readonly #setup: CreationSetup;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #promotable = new Set<DirectRun>();
  #closed = false;

  constructor(setup: CreationSetup) {
    this.#setup = setup;
  }

  /** The number of direct runs that have no task yet. */
  get direct(): number {
    let count = 0;
    for (const { attempt } of this.#promotable) if (!attempt.isHeld) count++;
    return count;
  }

  /** Resolves once the task is durable. */
  create(call: TaskCall): Promise<TaskSnapshot> {
    return this.#track(() => this.#create(call, this.#toolOf(call)));
  }

  /**
   * As `create`, but a tool with `promoteAfterMs` first runs directly. A call has a record from the start if it has an idempotency key, so
   * that it can be found again, if it has to wait for a slot, or if its `prepare` runs in the task.
   */
  call(call: TaskCall, signal: AbortSignal): Promise<CallEnd> {
    return this.#track(() => this.#call(call, signal));
  }

  /** Resolves when no task is being created any more, or at the deadline. Direct runs become tasks now, or are given up then. */
  async stop(deadline: Deadline): Promise<void> {
    this.#closed = true;
    for (const promotable of this.#promotable) {
      if (promotable.attempt.run.signal.aborted) promotable.giveUp(cutOff());
      else void promotable.promoteInTime();
    }
    await deadline.bound(this.settled());
    for (const promotable of this.#promotable) promotable.giveUp(cutOff());
  }

  /** Resolves when no task is being created any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  async #call(call: TaskCall, signal: AbortSignal): Promise<CallEnd> {
    const tool = this.#toolOf(call);
    const { promoteAfterMs } = tool;
    const needsRecord = call.idempotencyKey !== undefined || call.prepareInTask === true;
    if (promoteAfterMs !== undefined && !needsRecord) {
      const fresh = newTask(call, tool, this.#setup.services); // refuses the call before it takes a slot
      if (this.#setup.dispatcher.tryTakeSlot(tool, call.principal))
        return this.#callDirectly(call, tool, fresh, promoteAfterMs, signal);
    }
    return { kind: "task", snapshot: await this.#create(call, tool) };
  }

  /** With a slot taken. */
  async #callDirectly(
    call: TaskCall,
    tool: Tool,
    fresh: FreshTask,
    promoteAfterMs: number,
    signal: AbortSignal,
  ): Promise<CallEnd> {
    const { services, slots, timers, sweeper, attempts, leaked, credentials } = this.#setup;
    const { store, clock } = services;
    let snapshot: TaskSnapshot | undefined;
    const promotable = new DirectRun({
      tool,
      id: fresh.task.id,
      arguments: JSON.parse(fresh.request.arguments),
      prepared: fresh.request.prepared,
      call: {
        caller: taskCaller(call.principal, call.origin.caller),
        credentials: () => credentialsOf(call.credentials),
        received: call.received,
      },
      direct: call,
      signal,
      services,
      timers,
      trace:
        services.telemetry &&
        new RunTrace(services.telemetry.tracing, {
          tool: tool.name,
          taskId: fresh.task.id,
          attempt: 1,
          trace: call.origin.trace,
        }),
      promotion: {
        afterMs: promoteAfterMs,
        slots: slots.of(call.principal),
        onEnd: () => unwatch(),
        makeTask: async (attempt) => {
          const token = shortName(clock);
          // Without a quota: it runs already, and the slots bound how many do.
          const { version } = tool;
          const result = await store.write({ type: "create", now: clock.now(), ...fresh, token, version });
          if (!result.ok) throw new HoldfastError("internal", "The id of the task is already in use.");
          sweeper.consider(result.task.sweepAt);
          credentials.keep(result.task.id, call); // for a later run, where this one is parked
          services.traces?.keep(result.task.id, call.origin.trace);
          snapshot = { task: result.task, inputs: [], outcome: null };
          attempts.hold(attempt, { record: result.task, origin: call.origin, entries: [], isNew: true });
        },
      },
    });
    const unwatch = leaked.watch(promotable.attempt.run, tool, () => {
      attempts.forget(promotable.attempt.run);
      promotable.giveUp(outlived());
    });
    this.#promotable.add(promotable);
    try {
      const end = await promotable.start();
      if (end.kind === "outcome") return end;
      if (snapshot === undefined)
        throw new HoldfastError("internal", "A task was created but cannot be found.");
      return { kind: "task", snapshot };
    } finally {
      this.#promotable.delete(promotable);
    }
  }

  async #create(call: TaskCall, tool: Tool): Promise<TaskSnapshot> {
    const { services, slots, sweeper, dispatcher, credentials } = this.#setup;
    const { store, clock, options } = services;
    const fresh = newTask(call, tool, services);
    const runs = call.queued !== true && dispatcher.tryTakeSlot(tool, call.principal);
    const token = runs ? shortName(clock) : null;
    const giveSlot = (): void => {
      if (token !== null) slots.give();
    };
    const isForOthers = !dispatcher.runs(tool) || (store.sharesLoad === true && tool.raw !== true);
    const forAnyOwner = isForOthers ? ({ forAnyOwner: true } as const) : {};
    const awaited = call.awaited === true ? ({ awaited: true } as const) : {};
    const quota = quotaOf(options);
    const promised = call.promised === true ? ({ promised: true } as const) : {};
    const version = runs ? { version: tool.version } : {};
    const terms = { ...forAnyOwner, ...awaited, ...promised, ...version, quota };
    const command = { type: "create", now: clock.now(), ...fresh, token, ...terms } as const;
    const result = await store.write<"create">(command).catch((error: unknown) => {
      giveSlot();
      throw error;
    });
    if (!result.ok || !result.created) giveSlot();
    if (!result.ok && result.reason === "quota") throw quotaExceeded();
    if (!result.ok && result.reason === "taken") {
      if (await this.#isOver(fresh.task)) return this.#create(call, tool);
      throw new HoldfastError("wire_id_taken", "Task id is already in use");
    }
    if (!result.ok) {
      throw new HoldfastError("idempotency_conflict", "This idempotency key belongs to another call.");
    }
    if (!result.created) return this.#existing(call, tool, result.task);
    sweeper.consider(result.task.sweepAt);
    credentials.keep(result.task.id, call);
    services.traces?.keep(result.task.id, call.origin.trace);
    if (token === null) dispatcher.queued(tool);
    else dispatcher.run(result.task, tool, fresh.request);
    return { task: result.task, inputs: [], outcome: null };
  }

  /** The task of an earlier, identical call, ended if it has expired. An expired task counts as deleted. */
  async #existing(call: TaskCall, tool: Tool, found: TaskRecord): Promise<TaskSnapshot> {
    const { services, sweeper } = this.#setup;
    const { store, clock } = services;
    const task = await sweeper.ended(found);
    if (!isGone(task, clock)) {
      assertScopes(task, call.scopes);
      return (await store.snapshot(task.id)) ?? { task, inputs: [], outcome: null };
    }
    await store.write({ type: "delete", now: clock.now(), id: task.id });
    return this.#create(call, tool);
  }

  /** Whether the task with this name has expired: then it is deleted, and the name is free. */
  async #isOver(wire: WireName): Promise<boolean> {
    const { store, clock } = this.#setup.services;
    const id = await store.find(wire);
    const task = id === undefined ? undefined : await store.get(id);
    if (task === undefined || !isGone(task, clock)) return false;
    const result = await store.write<"delete">({ type: "delete", now: clock.now(), id: task.id });
    return result.ok || result.reason === "unknown";
  }

  #toolOf(call: TaskCall): Tool {
    const tool = this.#setup.services.registry.handlerOf({ method: "tools/call", ...call });
    if (tool === undefined) throw new HoldfastError("invalid_params", `Tool ${call.tool} not found`);
    return tool;
  }

  async #track<T>(make: () => Promise<T>): Promise<T> {
    if (this.#closed) throw stopping();
    const work = make();
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }
}

/** The handler's outcome when its caller has left. */
function outlived(): HoldfastError {
  return new HoldfastError("handler_leaked", "The handler kept running after its caller had left.");
}

/** When to try again if a limit is reached, in ms. */
const retryAfterMs = 5_000;

export function quotaOf(options: RuntimeSettings): Quota {
  return {
    perPrincipal: {
      unfinished: options.maxUnfinishedPerPrincipal,
      retained: options.maxRetainedPerPrincipal,
    },
    total: { unfinished: options.maxUnfinished, retained: options.maxRetained },
  };
}

/** The message does not reveal whose tasks fill the server. */
export function quotaExceeded(): HoldfastError {
  return new HoldfastError(
    "limit_reached",
    "There are too many tasks. Try again once some have ended and been deleted.",
    { data: { retryAfterMs } },
  );
}
