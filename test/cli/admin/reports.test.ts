import { describe, expect, it } from "vitest";
import type { TaskDetails, TaskSummary } from "../../../src/admin/admin.ts";
import { taskReport } from "../../../src/cli/command/admin/show-task.ts";
import { taskTable, topText } from "../../../src/cli/command/admin/operation-tables.ts";

const at = Date.UTC(2026, 10, 23, 14, 0, 0);
const now = at + 7_384_000;

const failed: TaskSummary = {
  id: "01a208a31b79D8VMyxco4CclUFUEgTSOiA",
  tool: "export_report",
  state: "failed",
  waitsFor: null,
  principal: "ann@example.com",
  generation: "2026-07-28",
  method: "tools/call",
  createdAt: at,
  startedAt: at + 40,
  updatedAt: at + 95_400,
  finishedAt: at + 95_400,
  expiresAt: at + 86_400_000,
  wakesAt: null,
  attempt: 3,
  statusMessage: "loading",
  progress: { progress: 2, total: 7 },
  error: "The disk of host-17 is full while 2026-10 is exported: nothing was written",
  owner: null,
  parent: null,
  retriedAs: null,
  cause: null,
  blocked: null,
};
const asking: TaskSummary = {
  ...failed,
  id: "01a208a320b7CdyP-tJLeFARC03i0fA1vA",
  tool: "ask",
  state: "input_required",
  principal: null,
  createdAt: at + 7_380_000,
  startedAt: at + 7_380_150,
  finishedAt: null,
  attempt: 1,
  statusMessage: "wartet auf 東京\u001b[31m\nand more",
  error: null,
};

const told = { taskId: failed.id, tool: failed.tool, failedAt: null };
const details: TaskDetails = {
  ...failed,
  wireId: failed.id,
  arguments: {
    month: "2026-10",
    hosts: ["host-4", "host-17"],
    format: { name: "csv", separator: ";" },
    copies: 3,
  },
  retryOf: null,
  toolVersion: 2,
  failures: 1,
  crashes: 1,
  suspicion: null,
  cancelRequestedAt: null,
  abandonedAt: null,
  retrieved: { at: at + 96_000, via: "tasks/get" },
  requiredScopes: ["reports"],
  traceId: "0af7651916cd43dd8448eb211c80319c",
  attempts: [
    {
      number: 1,
      owner: "657cbd55-5411-434b",
      startedAt: at + 40,
      endedAt: at + 9_040,
      end: "lost",
      error: "The process that ran it is gone.",
    },
    {
      number: 2,
      owner: "8f1a22c0-11aa-4f0e",
      startedAt: at + 20_000,
      endedAt: at + 60_000,
      end: "retried",
      error: "connect ECONNREFUSED 10.0.0.17:22, after which it was tried again",
    },
    {
      number: 3,
      owner: "8f1a22c0-11aa-4f0e",
      startedAt: at + 90_000,
      endedAt: at + 95_400,
      end: "failed",
      stack:
        "Error: The disk of host-17 is full\n    at write (/srv/reports/dist/write.js:41:11)\n    at async publish (/srv/reports/dist/publish.js:12:5)\ncaused by: Error: ENOSPC: no space left on device, write",
    },
  ],
  timeline: [
    {
      key: "load rows",
      kind: "step",
      method: null,
      begunAt: at + 60,
      doneAt: at + 310,
      durationMs: 250,
      tries: 0,
      until: null,
      error: null,
      childId: null,
    },
    {
      key: "confirm",
      kind: "input",
      method: "elicitation/create",
      begunAt: at + 20_400,
      doneAt: at + 58_400,
      durationMs: 38_000,
      tries: 0,
      until: null,
      error: null,
      childId: null,
    },
    {
      key: "write",
      kind: "step",
      method: null,
      begunAt: at + 90_010,
      doneAt: at + 95_390,
      durationMs: 5_380,
      tries: 2,
      until: null,
      error: "The disk of host-17 is full",
      childId: null,
    },
    {
      key: "nap",
      kind: "sleep",
      method: null,
      begunAt: at + 95_391,
      doneAt: null,
      durationMs: null,
      tries: 0,
      until: now + 1_000,
      error: null,
      childId: null,
    },
  ],
  timelineIsCut: false,
  timelineSummary: { entries: 2, failed: 0, open: 0 },
  questions: [
    {
      key: "again",
      method: "elicitation/create",
      params: {
        message: "Try another host?",
        requestedSchema: { type: "object", properties: { host: { type: "string" } } },
      },
    },
  ],
  children: [{ ...asking, parent: failed.id }],
  outcome: {
    kind: "error",
    body: {
      code: -32603,
      message: "The disk of host-17 is full while 2026-10 is exported: nothing was written",
    },
  },
  log: [
    {
      seq: 1,
      at: "2026-11-23T14:00:00.300Z",
      level: "info",
      text: "4,711 rows",
      data: { host: "host-4" },
      step: "load rows",
    },
  ],
  output: [{ seq: 1, at: "2026-11-23T14:00:00.300Z", content: { type: "text", text: "half of it" } }],
  files: [],
  deliveries: [
    {
      ...told,
      seq: 3,
      webhook: "billing",
      event: "created",
      at,
      tries: 3,
      nextAt: now + 90_000,
      problem: "answered 503",
    },
    {
      ...told,
      seq: 5,
      webhook: "audit",
      event: "failed",
      at: at + 95_400,
      tries: 0,
      nextAt: at + 95_400,
      problem: null,
    },
    {
      ...told,
      seq: 4,
      webhook: "audit",
      event: "created",
      at,
      tries: 14,
      nextAt: null,
      problem: "connect ECONNREFUSED 10.0.0.9:443",
    },
  ],
  actions: [
    {
      seq: 9,
      at: at + 80_000,
      actor: "eve@ops-1",
      action: "extend",
      taskId: failed.id,
      tool: "export_report",
      detail: { until: null },
    },
  ],
};

const widths = (text: string): number => Math.max(...text.split("\n").map((line) => line.length));

describe.each([80, 200])("on %d columns", (columns) => {
  it("a list is a line for each task", async () => {
    const text = taskTable([asking, failed], now, columns);
    expect(widths(text)).toBeLessThan(columns);
    await expect(text).toMatchFileSnapshot(`list-${columns}.txt`);
  });

  it("a task is shown whole", async () => {
    const text = taskReport(details, now, columns);
    expect(widths(text)).toBeLessThan(columns);
    await expect(text).toMatchFileSnapshot(`show-${columns}.txt`);
  });
});

it("a status text that says what the error says is left out", () => {
  expect(taskReport(details, now, 80)).toContain("\nstatus ");
  expect(taskReport({ ...details, statusMessage: details.error }, now, 80)).not.toContain("\nstatus ");
});

it("programs get all of it, and no titles", () => {
  expect(taskTable([failed], now, undefined)).toBe(
    `${failed.id}\tfailed\texport_report\t2026-11-23T14:00:00.000Z\t1m 35s (3)\tann@example.com\t${failed.error ?? ""}\n`,
  );
});

it("shows nothing of the password in the URL of a store", () => {
  const place = "postgres://ann:my@s3cret/1@db.example/tasks?password=s3cret";
  const shown = topText({ counts: { tools: [], most: 1 }, tasks: [] }, { now: 0, cells: 80, place });
  expect(shown).toContain("postgres://db.example/tasks\n");
  expect(shown).not.toContain("s3cret");
});
