import type { Command } from "commander";
import type { Activity, NodeSummary } from "../../../admin/activity.ts";
import type { FailureGroup, Incident } from "../../../admin/incident-shapes.ts";
import type { OperatorSession } from "../../../admin/incident-operations.ts";
import type { TaskPage, TaskQuery, TaskSummary } from "../../../admin/admin.ts";
import type { WebhookBacklog } from "../../../admin/webhook-shapes.ts";
import type { Input } from "../../../admin/operation.ts";
import type { Admin, AdminActs, AdminReads } from "../../../admin/operations.ts";
import { countOf, selecting, selectionOf, untilOf } from "./selection.ts";
import { idForms } from "../../declare.ts";
import { UsageError } from "../../errors.ts";
import type { Io } from "../../io.ts";
import { spanText, tasksText, timeText } from "../../output/amounts.ts";
import { fittedTable } from "../../output/table.ts";
import { duration } from "../../terminal/text.ts";
import { actionColumns, actionRow, taskReport } from "./show-task.ts";
import { answersTo, readAnswer } from "./answer-task.ts";
import { countTable, shownId, taskTable } from "./task-table.ts";
import { findTask } from "./with-admin.ts";

// What the command of an operation has besides what the table of operations says: how people see what it gives, and where they type
// something else than the members of its input.

export interface Page<Gives> {
  readonly text: (given: Gives, input: Input, shown: Shown) => string;
  /** For programs, where it is not the answer as it is. */
  readonly json?: (given: Gives, input: Input) => object;
  /** On stderr, for people. */
  readonly note?: (given: Gives) => string | undefined;
  /** What the command does, where the summary of the operation is not all of it. */
  readonly does?: string;
  /** With `--all`, it is done to all selected tasks. `alone`: the options that are for one task. */
  readonly all?: { readonly alone?: readonly string[] };
  /** Adds its words, instead of the names in the path. */
  readonly words?: (command: Command) => void;
  /** Adds its options, instead of those of the operation. */
  readonly options?: (command: Command) => void;
  /** What was typed, instead of the members of the input with these names. The id of a task may be the start of one. */
  readonly typed?: (words: readonly string[], options: Input, io: Io) => Input | Promise<Input>;
  /** Makes the input of what was typed. */
  readonly input?: (typed: Input, session: Session) => Input | Promise<Input>;
  /** Does more than to call the method once. */
  readonly give?: (admin: AdminReads, input: Input) => Promise<Gives>;
}

export interface Shown {
  readonly now: number;
  /** The width of the terminal; undefined for programs. */
  readonly cells: number | undefined;
}

interface Session {
  readonly admin: Admin;
  /** What the store's clock shows (epoch ms). */
  readonly now: number;
}

type Pages<Methods> = {
  readonly [Name in keyof Methods]?: Methods[Name] extends (...given: never) => Promise<infer Gives>
    ? Page<Gives>
    : never;
};

export const readPages: Pages<AdminReads> = {
  list: {
    options: (command) =>
      selecting(command)
        .option("--limit <count>", "list at most this many", countOf, 50)
        .option("--after <id>", "only tasks older than this one"),
    input: ({ limit, after, ...selection }, { now }) => ({ ...selectionOf(selection, now), limit, after }),
    give: listed,
    text: ({ tasks }, _, { now, cells }) => taskTable(tasks, now, cells),
    note: ({ next }) => (next === null ? undefined : `For more, add --after ${next}`),
  },
  show: { text: (task, _, { now, cells }) => taskReport(task, now, cells) },
  counts: { text: (counts, _, { cells }) => countTable(counts, cells) },
  failures: {
    json: (failures, { tool }) => ({ tool, failures }),
    text: (failures, _, shown) => failureTable(failures, shown),
  },
  incidents: {
    json: (incidents) => ({ incidents }),
    text: (incidents, _, shown) => incidentTable(incidents, shown),
  },
  webhooks: {
    json: (webhooks) => ({ webhooks }),
    text: (webhooks, _, { cells }) => webhookTable(webhooks, cells),
  },
  actions: {
    options: (command) =>
      command
        .option("--task <id>", "only actions on this task")
        .option("--principal <name>", "only reads, exports and erasures of this caller's data")
        .option("--before <number>", "only actions before this number", countOf)
        .option("--limit <count>", "list at most this many", countOf, 50),
    input: async ({ task, ...others }, { admin }) =>
      typeof task === "string" ? { ...others, taskId: await findTask(admin, task) } : others,
    json: (actions) => ({ actions }),
    text: (actions, _, { cells }) => fittedTable(actionColumns, actions.map(actionRow), cells),
  },
  activity: { text: (activity, _, { cells }) => activityTables(activity, cells) },
  nodes: { json: (nodes) => ({ nodes }), text: (nodes, _, { cells }) => nodeTable(nodes, cells) },
  sessions: {
    json: (sessions) => ({ sessions }),
    text: (sessions, _, { cells }) => sessionTable(sessions, cells),
  },
};

export const actPages: Pages<AdminActs> = {
  answer: {
    does: "answer a task's question",
    words: (command) =>
      command
        .argument("<id>", idForms)
        .argument("[key]", "the question's key, if several are open")
        .argument("[json]", "the result that a client would send, as JSON"),
    options: (command) =>
      command
        .option(
          "--accept [pairs...]",
          "accept, with key=value, converted by the question's schema, or key:=json",
        )
        .option("--decline", "decline to answer"),
    typed: readAnswer,
    input: answersTo,
    text: ({ state }, { id, answers }) =>
      `answered "${Object.keys(answers as object).join()}" of ${String(id)}; the task is now ${state}\n`,
  },
  cancel: {
    does: "cancel a task, or all selected ones",
    all: {},
    text: (_, { id }) => `cancelled ${String(id)}\n`,
  },
  retry: {
    does: "run a finished task again as a new one that keeps what succeeded, or all selected ones",
    all: { alone: ["arguments", "keepUpTo"] },
    text: (task, { id }) => `${String(id)} runs again as ${task.id}\n`,
  },
  delete: {
    does: "delete a finished task, or all selected ones",
    all: {},
    json: (_, { id }) => ({ id }),
    text: (_, { id }) => `deleted ${String(id)}\n`,
  },
  extend: {
    does: "let a task run longer, or keep a finished one longer, or do so for all selected ones",
    all: {},
    words: (command) => command.argument("<words...>", "[id] and its new end: 2d from now, a date, or never"),
    options: () => undefined,
    typed: (words, _, io) => {
      const [time = "", id, ...rest] = words.toReversed();
      if (rest.length > 0) throw new UsageError("Give a task's id and its new end, such as 2d.");
      return { id, until: untilOf(time, io.now()) };
    },
    text: (_, { id }) => `extended ${String(id)}\n`,
  },
  unblock: { text: ({ id }) => `${id} is tried again\n` },
  pause: {
    json: (_, { tool }) => ({ tool, paused: true }),
    text: (_, { tool }) => `paused ${String(tool)}\n`,
  },
  resume: {
    json: (_, { tool }) => ({ tool, paused: false }),
    text: (_, { tool }) => `resumed ${String(tool)}\n`,
  },
  mark: {
    text: ({ cause, muted, note }) =>
      `${cause} is ${muted ? "" : "not "}muted${note === null ? "" : `, with the note: ${note}`}\n`,
  },
  resend: {
    json: (resent, { webhook }) => ({ webhook, ...resent }),
    text: ({ resent, delivered }, { webhook, changedFrom, dryRun }) => {
      const messages = `${resent} ${resent === 1 ? "message" : "messages"} of ${String(webhook)}`;
      const told = changedFrom === undefined ? "" : `, and how ${tasksText(delivered)} stand`;
      return `${messages}${told} ${dryRun === true ? "would be " : ""}sent again\n`;
    },
  },
  endSession: {
    input: async ({ session }, { admin }) => ({ session: await findSession(admin, String(session)) }),
    json: (_, { session }) => ({ session }),
    text: (_, { session }) => `ended ${String(session)}\n`,
  },
};

async function findSession(admin: Admin, given: string): Promise<string> {
  const found = (await admin.sessions()).filter(({ id }) => given !== "" && id.startsWith(given));
  const [session] = found;
  if (session === undefined)
    throw new UsageError(`No session has the id ${given}. It has ended, or the id is another one.`);
  if (found.length > 1)
    throw new UsageError(`The ids of several sessions start with ${given}: give more of it.`);
  return session.id;
}

/** The maximum number of tasks on one page. */
const longestPage = 1_000;

/** As many tasks as requested, if there are that many. A page of the store may be shorter before the last. */
async function listed(admin: AdminReads, input: Input): Promise<TaskPage> {
  const { limit = 0, after, ...selection }: TaskQuery = input;
  const tasks: TaskSummary[] = [];
  let next: string | null = after ?? null;
  let behind: Pick<TaskPage, "behindMs"> = {};
  do {
    const page: TaskPage = await admin.list({
      ...selection,
      limit: Math.min(limit - tasks.length, longestPage),
      ...(next !== null && { after: next }),
    });
    tasks.push(...page.tasks);
    next = page.next;
    const { behindMs } = page;
    if (behindMs !== undefined) behind = { behindMs: Math.max(behindMs, behind.behindMs ?? 0) };
  } while (next !== null && tasks.length < limit);
  return { tasks, next, ...behind };
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

function incidentTable(incidents: readonly Incident[], { now, cells }: Shown): string {
  const ago = (at: number): string =>
    cells === undefined ? new Date(at).toISOString() : `${duration(now - at)} ago`;
  const columns = [
    { title: "CAUSE", least: 17 },
    { title: "TOOL", least: 8 },
    { title: "OPEN", least: 4, isNumber: true },
    { title: "CALLERS", least: 7, isNumber: true },
    { title: "SINCE", least: 7 },
    { title: "VERSION", least: 7 },
    { title: "LAST", least: 7 },
    { title: "MESSAGE", least: 20 },
    { title: "NOTE", least: 4 },
  ] as const;
  const rows = incidents.map(({ cause, tool, open, callers, message, note, ...incident }) => [
    cause,
    tool,
    String(open),
    String(callers),
    ago(incident.firstAt),
    versionsText(incident),
    ago(incident.lastAt),
    message,
    [...(incident.muted ? ["muted"] : []), ...(note === null ? [] : [note])].join(": "),
  ]);
  return fittedTable(columns, rows, cells);
}

/** The version with which it began, and the last one if that is another. */
function versionsText({ firstVersion, lastVersion }: Pick<Incident, "firstVersion" | "lastVersion">): string {
  const [first, last] = [firstVersion, lastVersion].map((version) => String(version ?? 1));
  return first === last ? `${first}` : `${first} to ${last}`;
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

function sessionTable(sessions: readonly OperatorSession[], cells: number | undefined): string {
  const columns = [
    { title: "SESSION", least: 8 },
    { title: "OPERATOR", least: 8 },
    { title: "ROLE", least: 5 },
    { title: "SINCE", least: 20 },
    { title: "UNTIL", least: 20 },
  ] as const;
  const rows = sessions.map(({ id, actor, role, since, until }) => [
    id,
    actor,
    role,
    timeText(since),
    timeText(until),
  ]);
  return fittedTable(columns, rows, cells);
}

function stateOf(alive: boolean, draining: NodeSummary["draining"]): string {
  if (!alive) return "gone";
  if (draining === null) return "alive";
  return draining.left === 0 ? "empty" : "draining";
}
