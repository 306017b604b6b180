import type { Activity, NodeSummary } from "../../src/admin/activity.ts";

/** Numbers by minute that vary like load, the same in each run. */
function wave(minutes: number, level: number, seed: number): number[] {
  return Array.from({ length: minutes }, (_, minute) => {
    const swing = 1 + 0.5 * Math.sin((minute + seed * 17) / 9) + 0.3 * Math.sin((minute * seed) / 2.3);
    return Math.max(0, Math.round(level * swing));
  });
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function tool(name: string, minutes: number, level: number, failing: number, p50Ms: number, seed: number) {
  const ended = wave(minutes, level, seed);
  const all = sum(ended);
  const failed = Math.round(all * failing);
  const cancelled = Math.round(all * 0.01);
  const completed = all - failed - cancelled;
  const created = all + seed;
  const retried = Math.round(failed * 1.6);
  return { tool: name, created, completed, failed, cancelled, retried, ended, p50Ms, p95Ms: p50Ms * 3.4 };
}

/** What the nodes below would have reported in the last minutes. */
export function sampleActivity(now: number, minutes: number): Activity {
  const refused = (code: string, method: string | null, level: number, seed: number) => {
    const byMinute = wave(minutes, level, seed);
    return { code, method, count: sum(byMinute), byMinute };
  };
  return {
    from: (Math.floor(now / 60_000) - minutes + 1) * 60_000,
    minutes,
    created: wave(minutes, 42, 3),
    completed: wave(minutes, 38, 3),
    failed: wave(minutes, 1.6, 5),
    cancelled: wave(minutes, 0.5, 7),
    tools: [
      tool("campaign", minutes, 2, 0.004, 184_000, 2),
      tool("deploy", minutes, 3, 0.02, 96_000, 5),
      tool("publish", minutes, 9, 0.13, 2_900, 4),
      tool("report", minutes, 26, 0.006, 22_500, 3),
    ],
    refusals: [
      refused("rate_limited", "tasks/get", 5, 3),
      refused("unknown_task", "tasks/get", 1.4, 5),
      refused("unauthorized", null, 0.8, 2),
      refused("invalid_params", "tools/call", 0.6, 4),
    ],
  };
}

export function sampleNodes(now: number, owner: string | null): readonly NodeSummary[] {
  const node = (host: string, pid: number, changed: Partial<NodeSummary>): NodeSummary => ({
    id: `5f0c27d4-${pid}-4e0a-9d57-1b7f6a90c2${pid % 100}`,
    alive: true,
    draining: null,
    host,
    pid,
    version: "0.1.0",
    startedAt: now - 3 * 86_400_000 - pid * 1_000,
    reportedAt: now - 4_000,
    roles: ["serve", "work"],
    slots: { used: 41, limit: 64 },
    running: 41,
    parked: 318,
    leaked: 0,
    loopDelay: { p50: 0.4, p99: 6.2, max: 21 },
    memoryBytes: 212 * 1_048_576,
    ...changed,
  });
  return [
    node("web-1", 4211, { ...(owner !== null && { id: owner }) }),
    node("web-2", 4187, {
      slots: { used: 58, limit: 64 },
      running: 58,
      parked: 402,
      loopDelay: { p50: 0.9, p99: 14, max: 63 },
      memoryBytes: 264 * 1_048_576,
    }),
    node("worker-1", 3902, {
      roles: ["work"],
      slots: { used: 64, limit: 64 },
      running: 64,
      parked: 96,
      leaked: 1,
      reportedAt: now - 48_000,
      loopDelay: { p50: 38, p99: 410, max: 1_240 },
    }),
    node("worker-2", 3877, { alive: false, roles: ["work"], running: 0, reportedAt: now - 190_000 }),
  ];
}
