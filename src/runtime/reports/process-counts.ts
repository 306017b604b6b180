import type { CommandResult, TaskCommand } from "../../task/command.ts";
import type { Clock } from "../clock.ts";
import type { ServerEvent } from "../events/server-event.ts";
import { MinuteCounts } from "./minute-counts.ts";
import { RunningSteps } from "./running-steps.ts";

const minuteMs = 60_000;

/** Minutes kept while the store does not accept reports. */
const mostMinutes = 10;

export function minuteOf(time: number): number {
  return Math.floor(time / minuteMs);
}

/** Counts what happens in this process, by minute, until it is reported. */
export class ProcessCounts {
  /** Those that run now. */
  readonly steps = new RunningSteps();
  readonly #clock: Pick<Clock, "now">;
  readonly #minutes = new Map<number, MinuteCounts>();
  #last = 0;
  #onLoss: (() => void) | undefined;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** A command that the store has applied or refused. Looks only at what operators see as numbers, because this is called for every write. */
  wrote(command: TaskCommand, result: CommandResult): void {
    if (!result.ok) return;
    if (command.type === "reclaim" && "reclaimed" in result) return this.#tookOver(command, result.reclaimed);
    if (!("task" in result)) return;
    const { task } = result;
    switch (command.type) {
      case "create":
        if (!("created" in result) || result.created) this.#now().count(task.tool, "created");
        return;
      case "call_tool":
        return this.#now().count(command.child.tool, "created");
      case "retry":
        return this.#now().count(task.tool, "retried");
      case "settle":
      case "fail": {
        const how = command.outcome.kind === "result" ? "completed" : "failed";
        return this.#now().ended(task.tool, how, command.now - task.createdAt);
      }
      case "expire":
        return this.#now().ended(task.tool, "failed", command.now - task.createdAt);
      case "cancel":
        return this.#now().ended(task.tool, "cancelled", command.now - task.createdAt);
      default:
    }
  }

  /** Receives the events of servers, and counts refused requests. */
  count(event: ServerEvent): void {
    if (event.type === "request.refused") this.#now().refused(event.code, event.method);
  }

  /** Calls back whenever tasks of a dead process were taken over: whoever reports that may die next, of the same task. */
  onLoss(listener: () => void): void {
    this.#onLoss = listener;
    if ([...this.#minutes.values()].some(({ lost }) => lost !== undefined)) listener();
  }

  #tookOver({ after }: TaskCommand<"reclaim">, attempts: number): void {
    if (attempts === 0) return;
    this.#now().tookOver({ owners: after === "" ? 1 : 0, attempts });
    this.#onLoss?.();
  }

  /** Minutes with counts, oldest first. */
  minutes(): readonly (readonly [minute: number, counts: MinuteCounts])[] {
    return [...this.#minutes].sort(([a], [b]) => a - b);
  }

  forget(minute: number): void {
    this.#minutes.delete(minute);
  }

  /** Counts in the current minute, not in that in which a command began: a minute that is over and reported gets no more counts. */
  #now(): MinuteCounts {
    const minute = minuteOf(this.#clock.now());
    const isBack = minute < this.#last && this.#last - minute <= 1; // clocks are set back a little
    if (!isBack) this.#last = minute;
    const counts = this.#minutes.get(this.#last) ?? new MinuteCounts();
    if (!this.#minutes.has(this.#last)) {
      this.#minutes.set(this.#last, counts);
      if (this.#minutes.size > mostMinutes) this.forget(Math.min(...this.#minutes.keys()));
    }
    return counts;
  }
}
