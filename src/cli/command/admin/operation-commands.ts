import { InvalidArgumentError, type Command } from "commander";
import * as z from "zod/mini";
import type { Activity, NodeSummary } from "../../../admin/activity.ts";
import type { FailureGroup, WebhookBacklog } from "../../../admin/admin.ts";
import { parametersOf, type Parameter } from "../../../admin/endpoint/request.ts";
import { call, type Input, type Operation } from "../../../admin/operation.ts";
import type { Schema } from "../../../admin/shape.ts";
import { acts, reads, type AdminActs, type AdminReads } from "../../../admin/operations.ts";
import { idForms } from "../../common-options.ts";
import type { Context } from "../../context.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import { fittedTable } from "../../output/fitted-table.ts";
import { pastTime } from "../../arguments/times.ts";
import { tasksText } from "../../output/amounts.ts";
import { spanText, timeText } from "../../output/times.ts";
import { duration } from "../../terminal/status-line.ts";
import { countTable } from "./counts.ts";
import { findTask } from "./find-task.ts";
import { taskReport } from "./show-task.ts";
import { noteBehind, shownId } from "./task-table.ts";
import type { AdminOptions } from "./with-admin.ts";

// The commands of operations that need nothing but their input: name, words, arguments, options and `--json` come from the table of
// operations, and from here how people see what they give. A command that does more has a file of its own.

/** How what an operation gives is shown. */
interface Page<Gives> {
  readonly text: (given: Gives, input: Input, shown: Shown) => string;
  /** For programs, where it is not the answer as it is. */
  readonly json?: (given: Gives, input: Input) => object;
}

interface Shown {
  readonly now: number;
  /** The width of the terminal; undefined for programs. */
  readonly cells: number | undefined;
}

type Pages<Methods> = {
  readonly [Name in keyof Methods]?: Methods[Name] extends (...given: never) => Promise<infer Gives>
    ? Page<Gives>
    : never;
};

const readPages: Pages<AdminReads> = {
  show: { text: (task, _, { now, cells }) => taskReport(task, now, cells) },
  counts: { text: (counts, _, { cells }) => countTable(counts, cells) },
  failures: {
    json: (failures, { tool }) => ({ tool, failures }),
    text: (failures, _, shown) => failureTable(failures, shown),
  },
  webhooks: {
    json: (webhooks) => ({ webhooks }),
    text: (webhooks, _, { cells }) => webhookTable(webhooks, cells),
  },
  activity: { text: (activity, _, { cells }) => activityTables(activity, cells) },
  nodes: { json: (nodes) => ({ nodes }), text: (nodes, _, { cells }) => nodeTable(nodes, cells) },
};

const actPages: Pages<AdminActs> = {
  unblock: { text: ({ id }) => `${id} is tried again\n` },
  pause: {
    json: (_, { tool }) => ({ tool, paused: true }),
    text: (_, { tool }) => `paused ${String(tool)}\n`,
  },
  resume: {
    json: (_, { tool }) => ({ tool, paused: false }),
    text: (_, { tool }) => `resumed ${String(tool)}\n`,
  },
  resend: {
    json: (resent, { webhook }) => ({ webhook, ...resent }),
    text: ({ resent, delivered }, { webhook, changedFrom, dryRun }) => {
      const messages = `${resent} ${resent === 1 ? "message" : "messages"} of ${String(webhook)}`;
      const told = changedFrom === undefined ? "" : `, and how ${tasksText(delivered)} stand`;
      return `${messages}${told} ${dryRun === true ? "would be " : ""}sent again\n`;
    },
  },
};

const words: Readonly<Record<string, string>> = {
  id: idForms,
  tool: "the tool's name",
  webhook: "the webhook's name",
};

/** Adds a command for each operation that has a page here. */
export function addOperationCommands(
  command: (name: string, description: string, acts: boolean) => Command,
  context: Context,
  end: (code: ExitCode) => void,
): void {
  const all: readonly (readonly [object, Readonly<Record<string, Operation>>])[] = [
    [readPages, reads],
    [actPages, acts],
  ];
  for (const [pages, operations] of all)
    for (const [name, page] of Object.entries(pages)) {
      const operation = operations[name];
      if (operation === undefined) continue;
      const { summary, method, path } = operation;
      const made = command(name, `${summary.slice(0, 1).toLowerCase()}${summary.slice(1)}`, method !== "GET");
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, named = ""]) => named);
      for (const named of inPath) made.argument(`<${named}>`, words[named]);
      for (const parameter of parametersOf(operation)) addOption(made, parameter);
      made.action(async (place: string, ...given: readonly (string | object)[]) => {
        const options = given[inPath.length] as AdminOptions & Input & { readonly json?: true };
        const { as, json: _, ...others } = options;
        const input = { ...others, ...Object.fromEntries(inPath.map((each, at) => [each, given[at]])) };
        const actor = as === undefined ? {} : { as };
        end(await run(context, { place, operation, page: page as Page<unknown>, options: actor, input }));
      });
    }
}

/** A time is told by its words: it is given as a date, or as how long ago it was. */
function addOption(command: Command, { name, schema }: Parameter): void {
  const told = wordsOf(schema);
  const option = optionOf(name);
  if (schema instanceof z.ZodMiniBoolean) command.option(option, told);
  else if (isTime(schema))
    command.option(`${option} <time>`, told.replace(inEpochMs, " (a date, or 2h for two hours ago)"));
  else if (schema instanceof z.ZodMiniNumber) command.option(`${option} <count>`, told, countOf);
  else command.option(`${option} <text>`, told);
}

const inEpochMs = " (epoch ms)";

function wordsOf(schema: Schema): string {
  const { description = "" } = z.globalRegistry.get(schema) ?? {};
  return `${description.slice(0, 1).toLowerCase()}${description.slice(1)}`.replace(/\.$/, "");
}

function isTime(schema: Schema): boolean {
  return wordsOf(schema).includes(inEpochMs);
}

function optionOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The times among the options, as the operation takes them. */
function timesIn(operation: Operation, typed: Input, now: number): Input {
  const times = parametersOf(operation).flatMap(({ name, schema }) => {
    const given = typed[name];
    return typeof given === "string" && isTime(schema)
      ? [[name, pastTime(optionOf(name), given, now)] as const]
      : [];
  });
  return Object.fromEntries(times);
}

interface Running {
  readonly place: string;
  readonly operation: Operation;
  readonly page: Page<unknown>;
  readonly options: AdminOptions;
  readonly input: Input;
}

async function run(
  context: Context,
  { place, operation, page, options, input: typed }: Running,
): Promise<ExitCode> {
  const { output } = context;
  const { withAdmin } = await import("./with-admin.ts");
  return withAdmin(context, { place, options }, async ({ admin, acts: act, now }) => {
    const { id } = typed;
    const task = typeof id === "string" ? { id: await findTask(admin, id) } : {};
    const input = { ...typed, ...timesIn(operation, typed, now()), ...task };
    const given = await call(operation.method === "GET" ? admin : act(), operation, input);
    if (output.json) await output.printJson(page.json?.(given, input) ?? (given as object));
    else await output.print(page.text(given, input, { now: now(), cells: output.columns }));
    noteBehind(output, given);
    return exitCodes.done;
  });
}

function failureTable(failures: readonly FailureGroup[], { now, cells }: Shown): string {
  const isForPeople = cells !== undefined;
  const columns = [
    { title: "COUNT", least: 5, isNumber: true },
    { title: "LAST", least: 7 },
    { title: "NEWEST TASK", least: shownId },
    { title: "MESSAGE", least: 20 },
  ] as const;
  const rows = failures.map(({ count, lastAt, taskId, message }) => [
    String(count),
    isForPeople ? `${duration(now - lastAt)} ago` : new Date(lastAt).toISOString(),
    isForPeople ? taskId.slice(0, shownId) : taskId,
    message,
  ]);
  return fittedTable(columns, rows, cells);
}

function webhookTable(webhooks: readonly WebhookBacklog[], cells: number | undefined): string {
  const columns = [
    { title: "WEBHOOK", least: 8 },
    { title: "WAITING", least: 7, isNumber: true },
    { title: "OLDEST", least: 20 },
    { title: "GIVEN UP", least: 8, isNumber: true },
    { title: "LAST FAILURE", least: 12 },
  ] as const;
  const rows = webhooks.map(({ webhook, waiting, oldestAt, givenUp, lastFailure }) => {
    const failure = lastFailure === null ? "" : `${timeText(lastFailure.at)} ${lastFailure.problem}`;
    const oldest = oldestAt === null ? "" : timeText(oldestAt);
    return [webhook, String(waiting), oldest, String(givenUp), failure];
  });
  return fittedTable(columns, rows, cells);
}

function activityTables({ tools, refusals }: Activity, cells: number | undefined): string {
  const number = (title: string) => ({ title, least: title.length, isNumber: true }) as const;
  const columns = ["CREATED", "COMPLETED", "FAILED", "CANCELLED", "RETRIED", "P50", "P95"].map(number);
  const span = (ms: number | null): string => (ms === null ? "" : spanText(ms));
  const rows = tools.map(({ tool, created, completed, failed, cancelled, retried, p50Ms, p95Ms }) => [
    tool,
    ...[created, completed, failed, cancelled, retried].map(String),
    span(p50Ms),
    span(p95Ms),
  ]);
  const refused = refusals.map(({ code, method, count }) => [code, method ?? "", String(count)]);
  const parts = [
    fittedTable([{ title: "TOOL", least: 8 }, ...columns], rows, cells),
    fittedTable(
      [{ title: "REFUSED", least: 8 }, { title: "METHOD", least: 8 }, number("COUNT")],
      refused,
      cells,
    ),
  ];
  return (refusals.length === 0 ? parts.slice(0, 1) : parts).join("\n");
}

function nodeTable(nodes: readonly NodeSummary[], cells: number | undefined): string {
  const columns = [
    { title: "NODE", least: 8 },
    { title: "HOST", least: 8 },
    { title: "PID", least: 5, isNumber: true },
    { title: "STATE", least: 5 },
    { title: "SLOTS", least: 5 },
    { title: "TASKS", least: 5, isNumber: true },
    { title: "REPORTED", least: 20 },
  ] as const;
  const rows = nodes.map(({ id, host, pid, alive, draining, slots, running, reportedAt }) => [
    id,
    host ?? "",
    String(pid ?? ""),
    stateOf(alive, draining),
    slots === null ? "" : `${slots.used} of ${slots.limit}`,
    String(running),
    reportedAt === null ? "" : timeText(reportedAt),
  ]);
  return fittedTable(columns, rows, cells);
}

function stateOf(alive: boolean, draining: NodeSummary["draining"]): string {
  if (!alive) return "gone";
  if (draining === null) return "alive";
  return draining.left === 0 ? "empty" : "draining";
}

export function countOf(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError("It must be a whole number, 1 or more.");
  return number;
}
