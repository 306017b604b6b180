import type { CommandResult } from "../../task/command-result.ts";
import type { TaskCommand } from "../../task/command.ts";
import type { Clock } from "../clock.ts";
import type { ServerEvent } from "../events/server-event.ts";
import { MinuteCounts } from "./minute-counts.ts";

const minuteMs = 60_000;

/** Minutes that are kept while the store does not take what was said of them. */
const mostMinutes = 10;

export function minuteOf(time: number): number {
  return Math.floor(time / minuteMs);
}

/** What happens in this process, counted by minute until it was reported. */
export class ProcessCounts {
  readonly #clock: Pick<Clock, "now">;
  readonly #minutes = new Map<number, MinuteCounts>();
  #last = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** A command that the store has applied or refused. Only what operators see in numbers is looked at: this is called for every write. */
  wrote(command: TaskCommand, result: CommandResult): void {
    if (!result.ok || !("task" in result)) return;
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

  /** Listens to the events of servers, of which it counts the requests that were refused. */
  told(event: ServerEvent): void {
    if (event.type === "request.refused") this.#now().refused(event.code, event.method);
  }

  /** Minutes of which something was counted, oldest first. */
  minutes(): readonly (readonly [minute: number, counts: MinuteCounts])[] {
    return [...this.#minutes].sort(([a], [b]) => a - b);
  }

  forget(minute: number): void {
    this.#minutes.delete(minute);
  }

  /** Of the minute of now, not of the one in which a command began: nothing more comes to a minute that is over, and was reported. */
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
