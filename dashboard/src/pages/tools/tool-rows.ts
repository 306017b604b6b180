import type { Activity, ToolActivity } from "../../../../src/admin/activity.ts";
import type { Counts, AdminTaskState, ToolCounts } from "../../../../src/admin/admin.ts";
import { countText } from "../../parts/counted.ts";

/** A tool's row: its activity in the period, and the current states of its tasks. */
export interface ToolRow extends ToolActivity {
  /** How many ended, in any way. */
  readonly endedCount: number;
  readonly endedPerMinute: number;
  /** The failed part of those that ended, from 0 to 1; null if none ended. */
  readonly failedShare: number | null;
  /** Unfinished tasks by state, without zeros. */
  readonly now: readonly { readonly state: AdminTaskState; readonly text: string }[];
  readonly paused: ToolCounts["paused"];
}

/** All known tools, sorted by name. */
export function toolRows(activity: Activity, counted: Counts): readonly ToolRow[] {
  const active = new Map(activity.tools.map((each) => [each.tool, each]));
  const countsOf = new Map(counted.tools.map((each) => [each.tool, each]));
  return [...new Set([...active.keys(), ...countsOf.keys()])].sort().map((tool) => {
    const did = active.get(tool) ?? idle(tool, activity.minutes);
    const endedCount = did.completed + did.failed + did.cancelled;
    const counts = countsOf.get(tool);
    return {
      ...did,
      endedCount,
      endedPerMinute: endedCount / Math.max(1, activity.minutes),
      failedShare: endedCount === 0 ? null : did.failed / endedCount,
      now: counts === undefined ? [] : openTasks(counted, counts),
      paused: counts?.paused ?? null,
    };
  });
}

function idle(tool: string, minutes: number): ToolActivity {
  const ended = Array.from({ length: minutes }, () => 0);
  return {
    tool,
    created: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    retried: 0,
    ended,
    p50Ms: null,
    p95Ms: null,
  };
}

function openTasks(counted: Counts, counts: ToolCounts): ToolRow["now"] {
  const states = [
    ["queued", "queued", "queued"],
    ["waiting", "waiting", "waiting"],
    ["running", "running", "running"],
    ["input_required", "inputRequired", "needing input"],
    ["blocked", "blocked", "blocked"],
  ] as const;
  return states
    .filter(([, name]) => counts[name] > 0)
    .map(([state, name, words]) => ({ state, text: `${countText(counted, [counts], name)} ${words}` }));
}

/** A rate with as many digits as are useful. */
export function rateText(perMinute: number): string {
  if (perMinute === 0) return "0";
  if (perMinute < 0.01) return "<0.01";
  const digits = perMinute >= 100 ? 0 : perMinute >= 10 ? 1 : 2;
  return perMinute.toLocaleString(undefined, { maximumFractionDigits: digits });
}

export function shareText(share: number): string {
  if (share === 0) return "0%";
  if (share < 0.001) return "<0.1%";
  return share.toLocaleString(undefined, { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 });
}
