import type { CommandResult } from "../../task/command.ts";
import { hasExpired } from "../../task/expiry.ts";
import { nextTurn } from "../next-turn.ts";
import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { failUnregistered, planRecovery, type RecoveryPlan } from "./recovery-plan.ts";
import type { Services } from "../services.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";

/** Tasks that are read at a time, and the most that are ended at a time. */
const page = 500;

type RunPlan = Extract<RecoveryPlan, { do: "run" }>;
type EndPlan = Extract<RecoveryPlan, { do: "cancel" | "fail" }>;

/** What is left to do for tasks that do not end at the start. */
interface Plans {
  readonly runs: { readonly id: string; readonly plan: RunPlan }[];
  /** Tasks whose tool is not there. */
  readonly orphans: TaskRecord[];
}
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
    const { store, clock } = this.#services;
    const { signal } = this.#stopped;
    for (let after: string | null = ""; after !== null && !signal.aborted;) {
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
    const plans: Plans = { runs: [], orphans: [] };
    for (let after = ""; !signal.aborted;) {
      const tasks = await store.unfinished(after, page);
      await this.#recover(tasks, plans);
      const last = tasks.at(-1);
      if (last === undefined || tasks.length < page) break;
      after = last.id;
      await nextTurn(); // stores read at once, and a million tasks would hold up all else in the process
    }
    if (this.#stopped.signal.aborted) return;
    // Not before: where a start fails, nothing has run.
    for (const { id, plan } of plans.runs) this.#run(id, plan);
    if (plans.orphans.length > 0) this.#failLater(plans.orphans);
  }

  stop(): void {
    this.#stopped.abort();
    for (const callOff of this.#callOffs) callOff();
    this.#callOffs.clear();
  }

  /** Ends what cannot run, all of a page at once so that the store can write it as a group, and plans the rest. */
  async #recover(tasks: readonly TaskRecord[], { runs, orphans }: Plans): Promise<void> {
    const { clock, registry, options } = this.#services;
    const now = clock.now();
    const ends: Promise<void>[] = [];
    for (const task of tasks) {
      if (hasExpired(task, now)) continue; // the sweeper ends it
      const plan = planRecovery(task, registry.handlerOf(task), options);
      if (plan.do === "await_tool") orphans.push(task);
      else if (plan.do === "run") runs.push({ id: task.id, plan });
      else ends.push(this.#end(task.id, plan));
    }
    const failed = (await Promise.allSettled(ends)).find((end) => end.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  /** A task that can no longer be read is reported, and left as it is. */
  async #end(id: string, plan: EndPlan): Promise<void> {
    const { store, clock, unreadable } = this.#services;
    const now = clock.now();
    try {
      if (plan.do === "cancel") await store.write({ type: "cancel", now, id });
      else {
        const { outcome, statusMessage } = plan;
        await store.write({ type: "fail", now, id, outcome, statusMessage });
      }
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      unreadable.report(id, error);
    }
  }

  #run(id: string, { tool, afterMs }: RunPlan): void {
    if (afterMs === 0) this.#dispatcher.enqueue(id, tool);
    else this.#later(afterMs, () => this.#dispatcher.enqueue(id, tool));
  }

  #failLater(tasks: readonly TaskRecord[]): void {
    const fail = async (): Promise<void> => {
      for (let first = 0; first < tasks.length; first += page) {
        await Promise.all(tasks.slice(first, first + page).map((task) => this.#failUnregistered(task)));
      }
    };
    this.#later(this.#services.options.unregisteredGraceMs, () => void fail());
  }

  async #failUnregistered(task: TaskRecord): Promise<void> {
    const { signal } = this.#stopped;
    try {
      await untilStoreAnswers(() => this.#end(task.id, failUnregistered(task)), this.#services, signal);
    } catch (error) {
      if (!signal.aborted) this.#services.onError(error);
    }
  }

  #later(ms: number, run: () => void): void {
    const callOff = this.#services.clock.after(ms, () => {
      this.#callOffs.delete(callOff);
      run();
    });
    this.#callOffs.add(callOff);
  }
}
