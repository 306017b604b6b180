import type { Activity, ToolActivity } from "../../../../src/admin/activity.ts";
import type { Counts, TaskStanding, ToolCounts } from "../../../../src/admin/admin.ts";

/** What is shown of a tool: what happened in the period, and how its tasks stand now. */
export interface ToolRow extends ToolActivity {
  /** How many ended, however they did. */
  readonly endedCount: number;
  readonly endedPerMinute: number;
  /** How large a part of what ended failed, from 0 to 1; null where nothing ended. */
  readonly failedShare: number | null;
  /** Unfinished tasks; those of which there are none are left out. */
  readonly now: readonly { readonly state: TaskStanding; readonly text: string }[];
  readonly paused: ToolCounts["paused"];
}

/** All tools of which something is known, in the order of their names. */
export function toolRows(activity: Activity, { tools, most }: Counts): readonly ToolRow[] {
  const active = new Map(activity.tools.map((each) => [each.tool, each]));
  const standing = new Map(tools.map((each) => [each.tool, each]));
  return [...new Set([...active.keys(), ...standing.keys()])].sort().map((tool) => {
    const did = active.get(tool) ?? idle(tool, activity.minutes);
    const endedCount = did.completed + did.failed + did.cancelled;
    const counts = standing.get(tool);
    return {
      ...did,
      endedCount,
      endedPerMinute: endedCount / Math.max(1, activity.minutes),
      failedShare: endedCount === 0 ? null : did.failed / endedCount,
      now: counts === undefined ? [] : openTasks(counts, most),
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

/** No count goes beyond `most`. */
function openTasks(counts: ToolCounts, most: number): ToolRow["now"] {
  const states = [
    ["queued", counts.queued, "queued"],
    ["waiting", counts.waiting, "waiting"],
    ["running", counts.running, "running"],
    ["input_required", counts.inputRequired, "needing input"],
  ] as const;
  return states
    .filter(([, count]) => count > 0)
    .map(([state, count, name]) => ({
      state,
      text: `${count.toLocaleString()}${count >= most ? "+" : ""} ${name}`,
    }));
}

/** A rate in as many digits as somebody reads. */
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
