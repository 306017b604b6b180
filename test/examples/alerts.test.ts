import { execFile, execFileSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { alertFiles, alerts } from "../../scripts/alerts.ts";
import type { RecordedIncident } from "../../scripts/record-incidents.ts";
import { example, newFolder } from "../docs/example-process.ts";

const run = promisify(execFile);

/** Brought by Debian's package `prometheus`. */
const hasPromtool = ((): boolean => {
  try {
    return execFileSync("promtool", ["--version"], { encoding: "utf8" }) !== "";
  } catch {
    return false;
  }
})();

it("rules and their table are made of one list; if not: npm run docs:alerts", async () => {
  const root = new URL("../../", import.meta.url);
  for (const [path, content] of await alertFiles())
    expect(await readFile(new URL(path, root), "utf8")).toBe(content);
  const runbooks = await readdir(new URL("docs/operate/runbooks/", root));
  for (const { runbook } of alerts) expect(runbooks).toContain(`${runbook}.md`);
});

/** Series as promtool writes them: a value each 15 seconds. */
type Series = Readonly<Record<string, string>>;

const shop = 'service_name="shop",service_instance_id="a"';
const of = (more: string): string => `{${shop},${more}}`;
const steady = (value: number): string => `${value}x120`;
const rising = (by: number): string => `0+${by}x120`;

const ended = "holdfast_task_duration_seconds_count";
const ok = of('gen_ai_tool_name="publish",holdfast_task_outcome="result"');
const failed = of('gen_ai_tool_name="publish",holdfast_task_outcome="error"');
const interrupted = "holdfast_attempt_interruptions_total";
const write = "holdfast_store_write_duration_seconds";
const disk = '{instance="db",mountpoint="/data",fstype="ext4"}';

/** A server with which all is well. */
const well: Series = {
  'up{job="holdfast",instance="a"}': steady(1),
  [`holdfast_slot_limit{${shop}}`]: steady(64),
  [`holdfast_slot_usage{${shop}}`]: steady(10),
  [`holdfast_owner_lost{${shop}}`]: steady(0),
  [`holdfast_owner_started{${shop}}`]: steady(1),
  [`holdfast_attempt_lost{${shop}}`]: steady(0),
  [`holdfast_queue_age_seconds{${shop}}`]: steady(2),
  [`${ended}${ok}`]: rising(30),
  [`${ended}${failed}`]: rising(1),
  [`${interrupted}${of('gen_ai_tool_name="publish",holdfast_attempt_end="blocked"')}`]: steady(0),
  [`holdfast_request_refusals_total${of('error_type="rate_limited"')}`]: rising(1),
  [`holdfast_webhook_age_seconds${of('holdfast_webhook_name="crm"')}`]: steady(3),
  [`holdfast_webhook_messages${of('holdfast_webhook_name="crm",holdfast_webhook_state="given_up"')}`]:
    steady(0),
  [`${write}_count${of('holdfast_store_outcome="failed"')}`]: steady(0),
  [`${write}_bucket${of('le="1"')}`]: rising(100),
  [`${write}_bucket${of('le="5"')}`]: rising(100),
  [`${write}_bucket${of('le="+Inf"')}`]: rising(100),
  [`node_filesystem_avail_bytes${disk}`]: steady(50),
  [`node_filesystem_size_bytes${disk}`]: steady(100),
  [`holdfast_store_losses_total{${shop}}`]: steady(0),
  [`holdfast_store_listener_losses_total{${shop}}`]: steady(0),
  [`holdfast_clock_offset_seconds{${shop}}`]: steady(0.01),
  [`nodejs_eventloop_delay_p99_seconds{${shop}}`]: steady(0.02),
  [`holdfast_loop_block_duration_seconds_count${of('gen_ai_tool_name="publish"')}`]: steady(0),
  [`holdfast_handler_leaked${of('gen_ai_tool_name="publish"')}`]: steady(0),
  [`holdfast_task_damages_total{${shop}}`]: steady(0),
};

/** What is different when each goes wrong. `_` is a reading that there is not. */
const wrong: Readonly<Record<string, Series>> = {
  ServerDown: { 'up{job="holdfast",instance="a"}': steady(0) },
  NothingReports: { [`holdfast_slot_limit{${shop}}`]: "64 _x120" },
  CrashLoop: { [`holdfast_owner_lost{${shop}}`]: "0x8 3x190" },
  ProcessesRestart: { [`holdfast_owner_started{${shop}}`]: steady(12) },
  AttemptsLost: { [`holdfast_attempt_lost{${shop}}`]: steady(11) },
  TasksFail: { [`${ended}${failed}`]: rising(20) },
  TasksBlocked: {
    [`${interrupted}${of('gen_ai_tool_name="publish",holdfast_attempt_end="blocked"')}`]: "0x70 1x130",
  },
  TasksWait: { [`holdfast_queue_age_seconds{${shop}}`]: rising(15) },
  NoSlotsLeft: { [`holdfast_slot_usage{${shop}}`]: steady(64) },
  RequestsRefused: { [`holdfast_request_refusals_total${of('error_type="rate_limited"')}`]: rising(60) },
  WebhookBacklog: { [`holdfast_webhook_age_seconds${of('holdfast_webhook_name="crm"')}`]: rising(15) },
  WebhookMessagesGivenUp: {
    [`holdfast_webhook_messages${of('holdfast_webhook_name="crm",holdfast_webhook_state="given_up"')}`]:
      steady(2),
  },
  StoreFails: { [`${write}_count${of('holdfast_store_outcome="failed"')}`]: rising(1) },
  DiskFills: { [`node_filesystem_avail_bytes${disk}`]: "50-1x45 5x155" },
  StoreIsSlow: { [`${write}_bucket${of('le="1"')}`]: rising(90) },
  ProcessTakenForDead: { [`holdfast_store_losses_total{${shop}}`]: "0x90 1x110" },
  NotificationsLost: { [`holdfast_store_listener_losses_total{${shop}}`]: rising(1) },
  ClockIsOff: { [`holdfast_clock_offset_seconds{${shop}}`]: steady(-6) },
  EventLoopIsSlow: { [`nodejs_eventloop_delay_p99_seconds{${shop}}`]: steady(0.7) },
  EventLoopIsBlocked: {
    [`holdfast_loop_block_duration_seconds_count${of('gen_ai_tool_name="publish"')}`]: rising(1),
  },
  HandlersLeak: { [`holdfast_handler_leaked${of('gen_ai_tool_name="publish"')}`]: steady(1) },
  TasksDamaged: { [`holdfast_task_damages_total{${shop}}`]: "0x90 1x110" },
};

interface Trial {
  readonly name: string;
  readonly series: Series;
  /** Which alerts fire, and when (minutes). */
  readonly fires: readonly string[];
  readonly atMinutes: readonly number[];
  /** Of those that are looked at; left out: all. */
  readonly among?: string;
}

/** Fails with what promtool says. */
async function promtool(trials: readonly Trial[]): Promise<void> {
  const tests = trials.map(({ name, series, fires, atMinutes, among = "" }) => ({
    name,
    interval: "15s",
    input_series: Object.entries(series).map(([each, values]) => ({ series: each, values })),
    promql_expr_test: atMinutes.map((minute) => ({
      expr: `count by (alertname) (ALERTS{alertstate="firing"${among}})`,
      eval_time: `${minute}m`,
      exp_samples: fires.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
    })),
  }));
  const path = join(await newFolder(), "tests.yml");
  const rules = example("observability/alerts.yml");
  await writeFile(path, JSON.stringify({ rule_files: [rules], evaluation_interval: "30s", tests }));
  await run("promtool", ["test", "rules", path]).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${error.stdout}\n${error.stderr}`);
  });
}

const untold = "needs promtool: apt-get install prometheus";

it.skipIf(!hasPromtool)(
  `each alert fires for its incident, and none when all is well (${untold})`,
  { timeout: 60_000 },
  async () => {
    expect(Object.keys(wrong).toSorted()).toEqual(alerts.map(({ name }) => name).toSorted());
    await promtool([
      { name: "all is well", series: well, fires: [], atMinutes: [2, 10, 30] },
      ...Object.entries(wrong).map(([name, series]) => ({
        name,
        series: { ...well, ...series },
        fires: [name],
        atMinutes: [28],
      })),
    ]);
  },
);

it.skipIf(!hasPromtool)(
  `the alert of a crash loop stays on while each process lives for seconds (${untold})`,
  { timeout: 60_000 },
  async () => {
    // Each process is read once or not at all, every half minute, before it dies. The store counts the losses for fifteen minutes.
    const lives = Array.from({ length: 20 }, (_, life) => {
      const before = Array.from({ length: life * 2 }, () => "_").join(" ");
      const read = life % 3 === 2 ? "_" : String(Math.min(life, 12));
      return [
        `holdfast_owner_lost{service_name="shop",service_instance_id="${life}"}`,
        `${before} ${read} stale`.trim(),
      ];
    });
    const up = Array.from({ length: 42 }, (_, reading) => (reading % 2 === 0 ? "1" : "0")).join(" ");
    const series: Series = {
      ...Object.fromEntries(lives),
      'up{job="holdfast",instance="a"}': up,
      [`holdfast_slot_limit{${shop}}`]: steady(64),
    };
    const atMinutes = [2, 3, 4, 5, 6, 7, 8, 9, 10];
    await promtool([{ name: "a crash loop", series, fires: ["CrashLoop"], atMinutes }]);
  },
);

/** By the names of recordings: the alerts that fire at their ends, and since which minute the first of them does so without a gap. */
const recordedFires: Readonly<Record<string, { readonly fires: readonly string[]; readonly since: number }>> =
  {
    "all is well": { fires: [], since: 0 },
    "the server is down": { fires: ["ServerDown", "NothingReports"], since: 3 },
    "a crash loop": { fires: ["CrashLoop", "AttemptsLost"], since: 4 },
    "an owner is lost": { fires: ["ServerDown"], since: 3 }, // once is no loop
    "a tool fails": { fires: ["TasksFail"], since: 12 },
    "tasks do not fit the code": { fires: ["TasksBlocked"], since: 4 },
    "a backlog": { fires: ["TasksWait", "NoSlotsLeft"], since: 11 },
    "the receiver of a webhook is gone": { fires: ["WebhookBacklog"], since: 21 },
    "a full disk": { fires: ["StoreFails", "DiskFills"], since: 4 },
    "a blocked loop": { fires: ["EventLoopIsBlocked"], since: 4 },
    "a slow loop": { fires: ["EventLoopIsSlow"], since: 6 },
    "a process stands still": { fires: ["ProcessTakenForDead"], since: 2 },
    "many deploys": { fires: ["ProcessesRestart"], since: 5 },
    "a receiver that is gone for days": { fires: ["WebhookMessagesGivenUp"], since: 3 },
    "connections that are cut": { fires: ["NotificationsLost"], since: 1 },
    "a clock that is wrong": { fires: ["ClockIsOff"], since: 1 },
    "a client that sends nonsense": { fires: ["RequestsRefused"], since: 15 },
    "a file that others lock": { fires: ["StoreIsSlow"], since: 6 },
    "a damaged task": { fires: ["TasksDamaged"], since: 4 },
    "a handler that goes on": { fires: ["HandlersLeak"], since: 16 },
  };

it.skipIf(!hasPromtool)(
  `alerts fire for what was read in real incidents (${untold})`,
  { timeout: 60_000 },
  async () => {
    const path = new URL("recorded-incidents.json", import.meta.url);
    const recorded = JSON.parse(await readFile(path, "utf8")) as Record<string, RecordedIncident>;
    expect(Object.keys(recorded).toSorted()).toEqual(Object.keys(recordedFires).toSorted());
    const tried = new Set(Object.values(recordedFires).flatMap(({ fires }) => fires));
    expect([...tried].toSorted()).toEqual(alerts.map(({ name }) => name).toSorted());
    await promtool(
      Object.entries(recorded).flatMap(([name, { readings, series }]) => {
        const { fires, since } = recordedFires[name] ?? expect.unreachable();
        const last = Math.floor((readings - 1) / 4);
        const atEnd = { name, series, fires, atMinutes: [last] };
        const [first] = fires;
        if (first === undefined) return [atEnd];
        const atMinutes = Array.from({ length: last - since + 1 }, (_, minute) => since + minute);
        return [atEnd, { name, series, fires: [first], atMinutes, among: `,alertname="${first}"` }];
      }),
    );
  },
);
