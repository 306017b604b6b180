import type { TaskPage, TaskQuery, TaskSummary } from "../../../admin/admin.ts";
import type { NodeSummary } from "../../../admin/activity.ts";
import type { Input } from "../../../admin/operation.ts";
import type { Admin, AdminActs, AdminReads } from "../../../admin/operations.ts";
import { countOf, readTimeSpan, selecting, selectionOf, untilOf } from "./selection.ts";
import { type DeclaredArgument, type DeclaredOption, type Example, idForms } from "../../declare.ts";
import { UsageError } from "../../errors.ts";
import type { Io } from "../../io.ts";
import { tasksText, timeText, fittedTable } from "../../output/table.ts";
import type { TopJson } from "../../output/json-shapes.ts";
import { actionColumns, taskReport } from "./show-task.ts";
import { answersTo, readAnswer } from "./answer-task.ts";
import {
  countTable,
  readTop,
  type Shown,
  taskTable,
  failuresNote,
  toolNote,
  topText,
  usualTasks,
  activityTables,
  callerTable,
  failureTable,
  incidentTable,
  latencyTable,
  nodeTable,
  sessionTable,
  bulkShown,
  deliveryTable,
  webhookTable,
} from "./operation-tables.ts";

// What the command of an operation has besides what the table of operations says: how people see what it gives, and where they type
// something else than the members of its input.

export interface Page<Gives> {
  readonly text: (given: Gives, input: Input, shown: Shown) => string;
  /** For programs, where it is not the answer as it is. */
  readonly json?: (given: Gives, input: Input) => object;
  /** What `--json` prints, where it is not just what the operation gives. */
  readonly prints?: string;
  /** On stderr, for people. */
  readonly note?: (given: Gives, input: Input, admin: AdminReads) => Notes | Promise<Notes>;
  /** Its name, where it is not that of the operation. */
  readonly command?: string;
  readonly examples: readonly Example[];
  /** What the command does, where the summary of the operation is not all of it. */
  readonly does?: string;
  /** With `--all`, it is done to all selected tasks. `alone`: the options that are for one task. */
  readonly all?: { readonly alone?: readonly string[] };
  /** Instead of the names in the path. */
  readonly args?: readonly DeclaredArgument[];
  /** Instead of those of the operation. */
  readonly options?: readonly DeclaredOption[];
  /** What was typed, instead of the members of the input with these names. The id of a task may be the start of one. */
  readonly typed?: (words: readonly string[], options: Input, io: Io) => Input | Promise<Input>;
  /** Makes the input of what was typed. */
  readonly input?: (typed: Input, session: Session) => Input | Promise<Input>;
  /** Does more than to call the method once. */
  readonly give?: (admin: AdminReads, input: Input) => Promise<Gives>;
  /** How it stands by now, which is looked at until nothing is. */
  readonly later?: (admin: AdminReads, given: Gives) => Promise<Gives | undefined>;
  /** How far it is, while that is looked at. */
  readonly progress?: (given: Gives) => string;
  /** What a terminal shows of it, again and again. `rows`: how many lines there are. */
  readonly live?: (admin: AdminReads, shown: Shown & { readonly rows: number }) => Promise<string>;
}

type Note = string | false;
type Notes = Note | readonly Note[];

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

const limited = ["--limit <count>", "list at most this many", { parse: countOf, default: 50 }] as const;

export const readPages: Pages<AdminReads> = {
  list: {
    examples: [
      ["holdfast admin tasks.db list --tool report --older-than 1h", "lists tasks created over an hour ago"],
    ],
    options: [...selecting, limited, ["--after <id>", "only tasks older than this one"]],
    input: ({ limit, after, ...selection }, { now }) => ({ ...selectionOf(selection, now), limit, after }),
    give: listed,
    text: ({ tasks }, _, { now, cells }) => taskTable(tasks, now, cells),
    note: ({ next }) => next !== null && `For more, add --after ${next}`,
  },
  show: {
    examples: [["holdfast admin tasks.db show 01a200", "shows everything stored about a task"]],
    text: (task, _, { now, cells }) => taskReport(task, now, cells),
  },
  counts: {
    examples: [["holdfast admin tasks.db counts", "prints a line for each tool"]],
    text: (counts, _, { cells }) => countTable(counts, cells),
  },
  failures: {
    prints: "`{ tool, failures }` with the `FailureGroup` of each cause",
    examples: [["holdfast admin tasks.db failures report", "groups failed tasks by cause"]],
    json: (failures, { tool }) => ({ tool, failures }),
    text: (failures, _, shown) => failureTable(failures, shown),
    note: failuresNote,
  },
  incidents: {
    prints: "`{ incidents }` with the `Incident` of each cause",
    examples: [["holdfast admin tasks.db incidents", "lists why tasks fail now, since when and for whom"]],
    json: (incidents) => ({ incidents }),
    text: (incidents, _, shown) => incidentTable(incidents, shown),
  },
  webhooks: {
    prints: "`{ webhooks }` with the `WebhookBacklog` of each",
    examples: [["holdfast admin tasks.db webhooks", "prints a line for each webhook"]],
    json: (webhooks) => ({ webhooks }),
    text: (webhooks, _, { cells }) => webhookTable(webhooks, cells),
  },
  deliveries: {
    examples: [
      [
        "holdfast admin tasks.db deliveries --failed",
        "lists messages that failed, and when they are tried again",
      ],
      [
        "holdfast admin tasks.db deliveries --state given_up --changed-from 2d",
        "lists those given up, of two days",
      ],
    ],
    text: ({ deliveries }, _, shown) => deliveryTable(deliveries, shown),
    note: ({ next }) => next !== null && `For more, add --after ${next}`,
  },
  actions: {
    prints: "`{ actions }` with each `AdminAction`",
    examples: [["holdfast admin tasks.db actions --task 01a200", "lists who did what to the task"]],
    json: (actions) => ({ actions }),
    text: (actions, _, { cells }) => fittedTable(actionColumns, actions, cells),
  },
  activity: {
    examples: [["holdfast admin tasks.db activity --minutes 15", "counts what ended, by tool, and refusals"]],
    text: (activity, _, { cells }) => activityTables(activity, cells),
  },
  callers: {
    examples: [
      ["holdfast admin tasks.db callers --minutes 1440 --by time", "lists who kept servers busy today"],
    ],
    text: (callers, _, { cells }) => callerTable(callers, cells),
    note: ({ tasks, from }) => `Of the ${tasksText(tasks)} created since ${timeText(from)}`,
  },
  latency: {
    examples: [["holdfast admin tasks.db latency report", "lists the slowest steps of the tool first"]],
    text: (latency, _, { cells }) => latencyTable(latency, cells),
    note: ({ tasks }) => `Of the newest ${tasksText(tasks)} that have ended`,
  },
  nodes: {
    prints: "`{ nodes }` with the `NodeSummary` of each process",
    examples: [["holdfast admin tasks.db nodes", "prints a line for each process"]],
    json: (nodes) => ({ nodes }),
    text: (nodes, _, { cells }) => nodeTable(nodes, cells),
  },
  bulkJob: {
    command: "bulk",
    examples: [["holdfast admin tasks.db bulk 01a200", "shows how far an action on many tasks has come"]],
    does: "show how far a command with --all is",
    args: [["<job>", "the job that --json and actions name"]],
    input: ({ job }) => ({ id: job }),
    ...bulkShown,
  },
  sessions: {
    prints: "`{ sessions }` with the `OperatorSession` of each",
    examples: [["holdfast admin tasks.db sessions", "lists who is logged in to a dashboard"]],
    json: (sessions) => ({ sessions }),
    text: (sessions, _, { cells }) => sessionTable(sessions, cells),
  },
};

/** Live on a terminal, until a key ends it. */
export const topPage: Page<TopJson> = {
  command: "top",
  prints: "`{ counts, tasks }` with `Counts` and the `TaskSummary` of each, once",
  examples: [["holdfast admin tasks.db top", "shows live counts until you press q"]],
  does: "watch tools and unfinished tasks live; press q to quit",
  options: [["--once", "print it once and exit"]],
  give: (admin) => readTop(admin, usualTasks),
  text: (top, _, shown) => topText(top, shown),
  live: async (admin, shown) => topText(await readTop(admin, shown.rows), shown),
};

export const actPages: Pages<AdminActs> = {
  answer: {
    examples: [["holdfast admin tasks.db answer 01a200 --accept sure=true", "answers in place of the user"]],
    does: "answer a task's question",
    args: [
      ["<id>", idForms],
      ["[key]", "the question's key, if several are open"],
      ["[json]", "the result that a client would send, as JSON"],
    ],
    options: [
      ["--accept [pairs...]", "accept, with key=value, converted by the question's schema, or key:=json"],
      ["--decline", "decline to answer"],
    ],
    typed: readAnswer,
    input: answersTo,
    text: ({ state }, { id, answers }) =>
      `answered "${Object.keys(answers as object).join()}" of ${String(id)}; the task is now ${state}\n`,
  },
  cancel: {
    examples: [
      [
        "holdfast admin tasks.db cancel --all --tool report --dry-run",
        "prints how many tasks would be cancelled",
      ],
    ],
    does: "cancel a task, or all selected ones",
    all: {},
    text: (_, { id }) => `cancelled ${String(id)}\n`,
  },
  retry: {
    examples: [
      [
        "holdfast admin tasks.db retry 01a200 --keep-up-to upload",
        "keeps steps up to upload, and runs the rest again",
      ],
    ],
    does: "run a finished task again as a new one that keeps what succeeded, or all selected ones",
    all: { alone: ["arguments", "keepUpTo"] },
    text: (task, { id }) => `${String(id)} runs again as ${task.id}\n`,
  },
  delete: {
    prints: "`{ id }`",
    examples: [
      ["holdfast admin tasks.db delete --all --state completed --older-than 7d", "asks before it deletes"],
    ],
    does: "delete a finished task, or all selected ones",
    all: {},
    json: (_, { id }) => ({ id }),
    text: (_, { id }) => `deleted ${String(id)}\n`,
  },
  extend: {
    examples: [
      ["holdfast admin tasks.db extend 01a200 2d", "lets it run, or keeps it, until two days from now"],
    ],
    does: "let a task run longer, or keep a finished one longer, or do so for all selected ones",
    all: {},
    args: [["<words...>", "[id] and its new end: 2d from now, a date, or never"]],
    options: [],
    typed: (words, _, io) => {
      const [time = "", id, ...rest] = words.toReversed();
      if (rest.length > 0) throw new UsageError("Give a task's id and its new end, such as 2d.");
      return { id, until: untilOf(time, io.now()) };
    },
    text: (_, { id, until }) =>
      `extended ${String(id)} ${until === null ? "without an end" : `until ${timeText(Number(until))}`}\n`,
  },
  unblock: {
    examples: [["holdfast admin tasks.db unblock 01a200", "tries it with the code that runs now"]],
    text: ({ id }) => `${id} is tried again\n`,
  },
  drain: {
    examples: [
      ["holdfast admin tasks.db drain", "says when the only server can be stopped"],
      [
        "holdfast admin tasks.db drain 657cbd55 --within 2m",
        "gives running steps of this process two minutes",
      ],
    ],
    does: "let a process take nothing new, finish or hand over what it has, and say when it is empty",
    args: [["[node]", "its id, or the start of it; needed if several processes serve the store"]],
    options: [
      ["--within <time>", "how long running steps may go on (default: 30s)"],
      ["--undo", "let it take work again"],
    ],
    typed: ([node], { within, ...others }) => ({
      ...others,
      node,
      ...(typeof within === "string" && { withinMs: readTimeSpan("--within", within) }),
    }),
    input: async ({ node, ...how }, { admin }) => ({ ...how, node: await findNode(admin, node) }),
    later: async (admin, node) =>
      node.alive && node.draining !== null && node.draining.left !== 0
        ? ((await admin.nodes()).find(({ id }) => id === node.id) ?? { ...node, alive: false })
        : undefined,
    progress: drainText,
    text: (node) => `${node.host ?? node.id}:${node.pid ?? ""} ${drainText(node)}\n`,
  },
  pause: {
    prints: "`{ tool, paused }`",
    examples: [["holdfast admin tasks.db pause report", "calls are still accepted, but wait"]],
    json: (_, { tool }) => ({ tool, paused: true }),
    text: (_, { tool }) => `paused ${String(tool)}\n`,
    note: (_, input, admin) => toolNote(String(input["tool"]), admin),
  },
  resume: {
    prints: "`{ tool, paused }`",
    examples: [["holdfast admin tasks.db resume report", "starts the tasks that waited"]],
    json: (_, { tool }) => ({ tool, paused: false }),
    text: (_, { tool }) => `resumed ${String(tool)}\n`,
  },
  mark: {
    examples: [
      [
        'holdfast admin tasks.db mark c0123456789abcdef --mute --note "fixed in 4"',
        "shows it after the others, with the note",
      ],
    ],
    text: ({ cause, muted, note }) =>
      `${cause} is ${muted ? "" : "not "}muted${note === null ? "" : `, with the note: ${note}`}\n`,
  },
  cancelBulk: {
    examples: [["holdfast admin tasks.db cancel-bulk 01a200", "leaves alone what it has not come to yet"]],
    does: "stop a command with --all that is under way; what is done stays done",
    args: [["<job>", "the job that --json and actions name"]],
    input: ({ job }) => ({ id: job }),
    ...bulkShown,
  },
  resend: {
    prints: "`{ webhook, resent, delivered }`",
    examples: [
      ["holdfast admin tasks.db resend billing", "resends them within a minute"],
      [
        "holdfast admin tasks.db resend billing --waiting --changed-from 2h --dry-run",
        "counts all that an outage of two hours may have lost",
      ],
    ],
    json: (resent, { webhook }) => ({ webhook, ...resent }),
    text: ({ resent, delivered }, { webhook, changedFrom, dryRun }) => {
      const messages = `${resent} ${resent === 1 ? "message" : "messages"} of ${String(webhook)}`;
      const told = changedFrom === undefined ? "" : `, and how ${tasksText(delivered)} stand`;
      return `${messages}${told} ${dryRun === true ? "would be " : ""}sent again\n`;
    },
  },
  endSession: {
    prints: "`{ session }`",
    examples: [["holdfast admin tasks.db end-session 3f9c01aa", "logs the operator out within a second"]],
    input: async ({ session }, { admin }) => ({ session: await findSession(admin, String(session)) }),
    json: (_, { session }) => ({ session }),
    text: (_, { session }) => `ended ${String(session)}\n`,
  },
};

/** A command line has the store open, too, and sends no reports. */
async function findNode(admin: Admin, given: unknown): Promise<string> {
  const nodes = (await admin.nodes()).filter(({ alive, roles }) => alive && roles.length > 0);
  const found = nodes.filter(({ id }) => typeof given !== "string" || id.startsWith(given));
  const [node] = found;
  if (node !== undefined && found.length === 1) return node.id;
  const list = nodes.map(({ id, host, pid }) => `${id} (process ${pid ?? "?"} on ${host ?? "?"})`).join(", ");
  if (nodes.length === 0) throw new UsageError("No process serves this store.");
  if (node === undefined)
    throw new UsageError(`No process has the id ${String(given)}. These serve the store: ${list}.`);
  throw new UsageError(`Several processes serve this store. Give the id of one: ${list}.`);
}

function drainText({ alive, draining }: NodeSummary): string {
  if (!alive) return "has ended";
  if (draining === null) return "takes work again";
  if (draining.left === 0) return "is empty: it can be stopped";
  return draining.left === null ? "has not answered yet" : `still has ${tasksText(draining.left)}`;
}

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
  let before: string | null;
  do {
    before = next;
    const page: TaskPage = await admin.list({
      ...selection,
      limit: Math.min(limit - tasks.length, longestPage),
      ...(next !== null && { after: next }),
    });
    tasks.push(...page.tasks);
    next = page.next;
    const { behindMs } = page;
    if (behindMs !== undefined) behind = { behindMs: Math.max(behindMs, behind.behindMs ?? 0) };
  } while (next !== null && next !== before && tasks.length < limit);
  return { tasks, next, ...behind };
}
