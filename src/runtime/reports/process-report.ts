import type { Role } from "../options.ts";

/** One process's report of a minute and of its state. It contains no texts of users and no arguments, but keys of steps. */
export interface ProcessReport {
  /** When it was made (epoch ms). */
  readonly at: number;
  readonly host: string;
  readonly pid: number;
  /** The version of the package. */
  readonly version: string;
  readonly startedAt: number;
  readonly roles: readonly Role[];
  readonly slots: { readonly used: number; readonly limit: number };
  /** Waiting handlers that stay in memory. */
  readonly parked: number;
  /** Handlers that keep running although their tasks have ended. */
  readonly leaked: number;
  /** How far it is, if operators drain it. */
  readonly drain?: DrainState;
  /** Handlers that hold tasks, by tool. */
  readonly active: readonly (readonly [tool: string, handlers: number])[];
  /** Since the previous report (ms). */
  readonly loopDelay: { readonly p50: number; readonly p99: number; readonly max: number } | null;
  readonly memoryBytes: number;
  /** Steps that run in it, those that began first; left out by older versions. */
  readonly steps?: readonly RunningStep[];
  /** What happened in the minute. */
  readonly tools: readonly ToolReport[];
  readonly refusals: readonly RefusalReport[];
  /** Left out if it took over no tasks of dead processes, and by older versions. */
  readonly lost?: LossReport;
}

/** Dead processes whose tasks a process took over, and the attempts that had been running there. */
export interface LossReport {
  readonly owners: number;
  readonly attempts: number;
}

/** How far a process is that operators drain. */
export interface DrainState {
  /** By when it is to have ended what it works on (epoch ms). */
  readonly until: number;
  /** Tasks that it still has in memory, and direct runs. */
  readonly left: number;
}

export interface ToolReport {
  readonly tool: string;
  readonly created: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly retried: number;
  /** From the creation of tasks to their end, counted as in `durations.ts`. */
  readonly durations: readonly (readonly [bucket: number, count: number])[];
}

export interface RefusalReport {
  readonly code: string;
  readonly method: string | null;
  readonly count: number;
}

/** Increase it when reports change in a way that older versions would misread: processes of several versions share a store. */
const form = 1;

export function reportText(report: ProcessReport): string {
  return JSON.stringify({ form, ...report });
}

/** Undefined for a damaged report, and for one in another version's format. */
export function readReport(body: string): ProcessReport | undefined {
  try {
    const report = JSON.parse(body) as ProcessReport & { readonly form: number };
    const isWhole = report.form === form && Array.isArray(report.tools) && Array.isArray(report.refusals);
    return isWhole ? report : undefined;
  } catch {
    return undefined;
  }
}

/** A step that runs, or a file that is stored, as it is reported to the store. */
export interface RunningStep {
  readonly taskId: string;
  readonly key: string;
  readonly kind?: "step" | "artifact";
  /** When it was first tried (epoch ms). */
  readonly begunAt: number;
  /** How often it has failed before. */
  readonly tries: number;
}

/** What runs in this process: journals have nothing of it until it ends. */
export class RunningSteps {
  /** In the order in which they began. */
  readonly #running = new Set<RunningStep>();

  async during<T>(step: RunningStep, work: () => Promise<T>): Promise<T> {
    this.#running.add(step);
    try {
      return await work();
    } finally {
      this.#running.delete(step);
    }
  }

  /** Those that run longest, at most `limit`. */
  oldest(limit: number): readonly RunningStep[] {
    return [...this.#running].slice(0, limit);
  }
}
