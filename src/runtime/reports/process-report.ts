import type { Role } from "../options.ts";

/** What one process says of a minute, and of how it stands. No texts of users and no arguments are in it. */
export interface ProcessReport {
  /** When it said so (epoch ms). */
  readonly at: number;
  readonly host: string;
  readonly pid: number;
  /** Of the package. */
  readonly version: string;
  readonly startedAt: number;
  readonly roles: readonly Role[];
  readonly slots: { readonly used: number; readonly limit: number };
  /** Handlers that wait, with what they hold in memory. */
  readonly parked: number;
  /** Handlers that go on although their tasks have ended. */
  readonly leaked: number;
  /** Handlers that hold tasks, by tool. */
  readonly active: readonly (readonly [tool: string, handlers: number])[];
  /** Since the report before (ms). */
  readonly loopDelay: { readonly p50: number; readonly p99: number; readonly max: number } | null;
  readonly memoryBytes: number;
  /** What happened in the minute. */
  readonly tools: readonly ToolReport[];
  readonly refusals: readonly RefusalReport[];
}

export interface ToolReport {
  readonly tool: string;
  readonly created: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly retried: number;
  /** From the creation of tasks to their end, as `durations.ts` counts them. */
  readonly durations: readonly (readonly [bucket: number, count: number])[];
}

export interface RefusalReport {
  readonly code: string;
  readonly method: string | null;
  readonly count: number;
}

/** Raised whenever reports change so that those who knew the earlier ones would misread them. */
const form = 1;

export function reportText(report: ProcessReport): string {
  return JSON.stringify({ form, ...report });
}

/** Undefined for a report of another form, which another version wrote, and for one that is damaged. */
export function readReport(body: string): ProcessReport | undefined {
  try {
    const report = JSON.parse(body) as ProcessReport & { readonly form: number };
    const isWhole = report.form === form && Array.isArray(report.tools) && Array.isArray(report.refusals);
    return isWhole ? report : undefined;
  } catch {
    return undefined;
  }
}
