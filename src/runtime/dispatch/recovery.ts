import type { CommandResult } from "../../task/command.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { failUnregistered, planRecovery, type RecoveryPlan } from "./recovery-plan.ts";
import type { Services } from "../services.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";

const page = 500;
/** Tasks that are given back to the queue in one transaction. */
const recoverPage = 5_000;

/**
 * Takes over what an earlier process left. Whoever opened the store owns every unfinished task in it at once: there
 * is no lease to wait out.
 */
export class Recovery {
  readonly #services: Services;
  readonly #dispatcher: Dispatcher;
  readonly #stopped = new AbortController();
  readonly #callOffs = new Set<() => void>();

  constructor(services: Services, dispatcher: Dispatcher) {
    this.#services = services;
    this.#dispatcher = dispatcher;
  }

  async run(): Promise<void> {
    const { store, clock, registry, options } = this.#services;
    for (let after: string | null = ""; after !== null;) {
      const now = clock.now();
      const recovery: CommandResult<"recover"> = await store.write({
        type: "recover",
        now,
        after,
        limit: recoverPage,
      });
      // They stay as they are: what is wrong with them is for people to see to, and none of the others' business.
      for (const { id, problem } of recovery.unreadable)
        this.#services.unreadable.report(id, new HoldfastError("task_unreadable", problem));
      after = recovery.next;
    }
    const orphans: TaskRecord[] = [];
    for (let after = ""; ;) {
      const tasks = await store.unfinished(after, page);
      for (const task of tasks) {
        const plan = planRecovery(task, registry.handlerOf(task), options);
        if (plan.do === "await_tool") orphans.push(task);
        else await this.#carryOut(task, plan);
      }
      const last = tasks.at(-1);
      if (last === undefined || tasks.length < page) break;
      after = last.id;
    }
    if (orphans.length > 0) this.#failLater(orphans);
  }

  stop(): void {
    this.#stopped.abort();
    for (const callOff of this.#callOffs) callOff();
    this.#callOffs.clear();
  }

  async #carryOut(task: TaskRecord, plan: Exclude<RecoveryPlan, { do: "await_tool" }>): Promise<void> {
    const { store, clock } = this.#services;
    const { id } = task;
    const now = clock.now();
    switch (plan.do) {
      case "cancel":
        await store.write({ type: "cancel", now, id });
        return;
      case "fail":
        await store.write({
          type: "fail",
          now,
          id,
          outcome: plan.outcome,
          statusMessage: plan.statusMessage,
        });
        return;
      case "run":
        if (plan.afterMs === 0) this.#dispatcher.enqueue(id, plan.tool);
        else this.#later(plan.afterMs, () => this.#dispatcher.enqueue(id, plan.tool));
    }
  }

  #failLater(tasks: readonly TaskRecord[]): void {
    this.#later(this.#services.options.unregisteredGraceMs, () => {
      for (const task of tasks) {
        const fail = () => this.#carryOut(task, failUnregistered(task));
        untilStoreAnswers(fail, this.#services, this.#stopped.signal).catch((error: unknown) => {
          if (!this.#stopped.signal.aborted) this.#services.onError(error);
        });
      }
    });
  }

  #later(ms: number, run: () => void): void {
    const callOff = this.#services.clock.after(ms, () => {
      this.#callOffs.delete(callOff);
      run();
    });
    this.#callOffs.add(callOff);
  }
}
