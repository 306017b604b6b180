// Makes examples/observability/alerts.yml, and the table in docs/operate/alerts.md, from the list below: npm run docs:alerts
import { readFile, writeFile } from "node:fs/promises";
import { format, resolveConfig } from "prettier";

/** `page`: somebody has to look now. `ticket`: within the next working day. */
type Severity = "page" | "ticket";

export interface Alert {
  readonly name: string;
  readonly severity: Severity;
  /** The page in docs/operate/runbooks/. */
  readonly runbook: string;
  readonly expr: string;
  /** How long it has to hold before it fires; left out: it fires at once. */
  readonly for?: string;
  readonly summary: string;
}

/** Where the runbooks are; whoever uses the rules puts the address of their own copy in its place. */
const runbooks = "https://runbooks.example.com";

const lasting = "holdfast_task_duration_seconds_count";

const blocked = 'holdfast_attempt_interruptions_total{holdfast_attempt_end="blocked"}';

export const alerts: readonly Alert[] = [
  {
    name: "ServerDown",
    severity: "page",
    runbook: "crash-loop",
    expr: 'up{job="holdfast"} == 0',
    for: "1m",
    summary: "{{ $labels.instance }} does not answer.",
  },
  {
    name: "NothingReports",
    severity: "page",
    runbook: "crash-loop",
    expr: "absent_over_time(holdfast_slot_limit[5m])",
    summary: "No server has reported for five minutes.",
  },
  {
    name: "CrashLoop",
    severity: "page",
    runbook: "crash-loop",
    // The number is of the store, so it survives each process. A process that lives too short to be read leaves gaps.
    expr: "max by (service_name) (max_over_time(holdfast_owner_lost[5m])) > 2",
    summary: "{{ $value }} processes died at work in the last fifteen minutes.",
  },
  {
    name: "ProcessesRestart",
    severity: "ticket",
    runbook: "crash-loop",
    expr: "max by (service_name) (max_over_time(holdfast_owner_started[5m])) > 10",
    summary:
      "{{ $value }} processes started in the last fifteen minutes. Raise the number if a deploy starts more.",
  },
  {
    name: "AttemptsLost",
    severity: "ticket",
    runbook: "poison-task",
    expr: "max by (service_name) (max_over_time(holdfast_attempt_lost[5m])) > 10",
    summary: "{{ $value }} attempts were lost with their processes, and run again elsewhere.",
  },
  {
    name: "TasksFail",
    severity: "page",
    runbook: "tool-fails",
    expr: `sum by (gen_ai_tool_name) (rate(${lasting}{holdfast_task_outcome=~"error|error_result|expired"}[10m])) / sum by (gen_ai_tool_name) (rate(${lasting}[10m])) > 0.2`,
    for: "10m",
    summary: "More than a fifth of the tasks of {{ $labels.gen_ai_tool_name }} fail.",
  },
  {
    name: "TasksBlocked",
    severity: "page",
    runbook: "tool-fails",
    // The first one begins its series, in which that is no increase.
    expr: `sum by (gen_ai_tool_name) (${blocked} unless ${blocked} offset 15m) > 0 or sum by (gen_ai_tool_name) (increase(${blocked}[15m])) > 0`,
    summary:
      "Tasks of {{ $labels.gen_ai_tool_name }} do not fit the code that is deployed, and wait for code that fits.",
  },
  {
    name: "TasksWait",
    severity: "page",
    runbook: "backlog",
    expr: "max by (service_name) (holdfast_queue_age_seconds) > 300",
    for: "5m",
    summary: "A task has been ready for more than five minutes, and no handler was free for it.",
  },
  {
    name: "NoSlotsLeft",
    severity: "ticket",
    runbook: "backlog",
    expr: "sum by (service_name) (holdfast_slot_usage) / sum by (service_name) (holdfast_slot_limit) > 0.95",
    for: "15m",
    summary: "Nearly all slots have been taken for a quarter of an hour.",
  },
  {
    name: "RequestsRefused",
    severity: "ticket",
    runbook: "backlog",
    expr: 'sum by (error_type) (rate(holdfast_request_refusals_total{error_type!="unauthorized"}[10m])) > 1',
    for: "10m",
    summary: "Requests are refused as {{ $labels.error_type }}.",
  },
  {
    name: "WebhookBacklog",
    severity: "ticket",
    runbook: "upstream-down",
    expr: "max by (holdfast_webhook_name) (holdfast_webhook_age_seconds) > 900",
    for: "5m",
    summary:
      "The webhook {{ $labels.holdfast_webhook_name }} has not accepted a message for a quarter of an hour.",
  },
  {
    name: "WebhookMessagesGivenUp",
    severity: "ticket",
    runbook: "upstream-down",
    expr: 'max by (holdfast_webhook_name) (holdfast_webhook_messages{holdfast_webhook_state="given_up"}) > 0',
    summary:
      "Messages to the webhook {{ $labels.holdfast_webhook_name }} were given up, and wait to be sent again.",
  },
  {
    name: "StoreFails",
    severity: "page",
    runbook: "database-full",
    expr: 'sum by (service_name) (rate(holdfast_store_write_duration_seconds_count{holdfast_store_outcome="failed"}[5m])) > 0',
    for: "1m",
    summary: "Writes to the store fail: its disk is full, or it does not answer.",
  },
  {
    name: "DiskFills",
    severity: "page",
    runbook: "database-full",
    // A metric of the machine, from node_exporter.
    expr: 'min by (instance, mountpoint) (node_filesystem_avail_bytes{fstype!~"tmpfs|overlay"} / node_filesystem_size_bytes) < 0.1',
    for: "5m",
    summary: "Less than a tenth of {{ $labels.mountpoint }} on {{ $labels.instance }} is free.",
  },
  {
    name: "StoreIsSlow",
    severity: "ticket",
    runbook: "database-full",
    expr: "histogram_quantile(0.99, sum by (le, service_name) (rate(holdfast_store_write_duration_seconds_bucket[5m]))) > 1",
    for: "5m",
    summary: "One write in a hundred takes longer than a second.",
  },
  {
    name: "ProcessTakenForDead",
    severity: "ticket",
    runbook: "failover",
    expr: "increase(holdfast_store_losses_total[10m]) > 0",
    summary: "A process did not renew its lease in time, and others have taken its tasks.",
  },
  {
    name: "NotificationsLost",
    severity: "ticket",
    runbook: "failover",
    expr: "increase(holdfast_store_listener_losses_total[10m]) > 3",
    summary: "Postgres stops notifying a process of changes. Look at its direct connection.",
  },
  {
    name: "ClockIsOff",
    severity: "ticket",
    runbook: "failover",
    expr: "abs(holdfast_clock_offset_seconds) > 5",
    for: "1m",
    summary: "A machine's clock is not that of the database. Look at the time service of both.",
  },
  {
    name: "EventLoopIsSlow",
    severity: "ticket",
    runbook: "stuck-handler",
    expr: "nodejs_eventloop_delay_p99_seconds > 0.5",
    for: "5m",
    summary: "A handler holds up its process. Move what it computes into a worker thread.",
  },
  {
    name: "EventLoopIsBlocked",
    severity: "page",
    runbook: "stuck-handler",
    expr: "sum by (service_instance_id, gen_ai_tool_name) (increase(holdfast_loop_block_duration_seconds_count[15m])) > 2",
    summary: "A process stood still for longer than it should, three times in a quarter of an hour.",
  },
  {
    name: "HandlersLeak",
    severity: "ticket",
    runbook: "stuck-handler",
    expr: "sum by (gen_ai_tool_name) (holdfast_handler_leaked) > 0",
    for: "15m",
    summary: "Handlers of {{ $labels.gen_ai_tool_name }} go on although their tasks have ended.",
  },
  {
    name: "TasksDamaged",
    severity: "page",
    runbook: "restore",
    expr: "increase(holdfast_task_damages_total[1h]) > 0",
    summary: "What is stored of a task cannot be read.",
  },
];

/** The rules as Prometheus reads them: JSON texts are YAML. */
export function rulesFile(): string {
  const rules = alerts.flatMap(({ name, severity, runbook, expr, for: lasts, summary }) => [
    `      - alert: ${name}`,
    `        expr: ${JSON.stringify(expr)}`,
    ...(lasts === undefined ? [] : [`        for: ${lasts}`]),
    `        labels:`,
    `          severity: ${severity}`,
    `        annotations:`,
    `          summary: ${JSON.stringify(summary)}`,
    `          runbook_url: ${runbooks}/${runbook}`,
  ]);
  const head =
    "# Made by npm run docs:alerts. Put the address of your runbooks in the place of runbooks.example.com.";
  return [head, "groups:", "  - name: holdfast", "    rules:", ...rules, ""].join("\n");
}

const [begin, end] = ["<!-- alerts -->", "<!-- /alerts -->"];

/** The page with the table of alerts between its marks. */
export function withTable(page: string): string {
  const rows = alerts.map(({ name, severity, runbook, expr, for: lasts, summary }) => {
    const when = `\`${expr.replaceAll("|", "\\|")}\`${lasts === undefined ? "" : ` for ${lasts}`}`;
    const says = summary.replaceAll(/\{\{ \$(?:labels\.)?(\w+) \}\}/g, (_, label: string) => `*${label}*`);
    return `| ${name} | ${severity} | ${says} | ${when} | [${runbook}](runbooks/${runbook}.md) |`;
  });
  const table = ["| alert | severity | says | when | runbook |", "| - | - | - | - | - |", ...rows].join("\n");
  const [before = "", rest = ""] = page.split(begin);
  const [, after = ""] = rest.split(end);
  return `${before}${begin}\n\n${table}\n\n${end}${after}`;
}

/** What the files should contain, by their paths from the root. */
export async function alertFiles(): Promise<ReadonlyMap<string, string>> {
  const path = "docs/operate/alerts.md";
  const config = (await resolveConfig(path)) ?? {};
  const page = await format(withTable(await readFile(path, "utf8")), { ...config, filepath: path });
  return new Map([
    ["examples/observability/alerts.yml", await format(rulesFile(), { ...config, parser: "yaml" })],
    [path, page],
  ]);
}

if (import.meta.main) for (const [path, content] of await alertFiles()) await writeFile(path, content);
