import type {
  AdminAction,
  AdminWaitReason,
  ShownLine,
  TaskDetails,
  TaskSummary,
} from "../../../admin/admin.ts";
import { type Column, notedTable, wrapped, spanText, timeText } from "../../output/table.ts";
import type { TaskDelivery, TimelineEntry } from "../../../admin/task-parts.ts";
import type { Blocked } from "../../../task/blocked.ts";
import type { Suspicion } from "../../../task/outcome.ts";
import { isJsonObject } from "../../../generation/message.ts";
import { describeQuestion } from "../../terminal/form/question-text.ts";

export const actionColumns: readonly Column<AdminAction>[] = [
  ["AT", 20, ({ at }) => timeText(at)],
  ["WHO", 8, ({ actor }) => actor],
  ["ACTION", 7, ({ action }) => action],
  ["TASK OR TOOL", 16, ({ taskId, tool }) => taskId ?? tool],
  ["DETAIL", 8, ({ detail }) => detail !== null && JSON.stringify(detail)],
];

/** The column of the head's texts. */
const headIndent = 12;

/** One task in full, for people: what it is, what it did, and its outcome. */
export function taskReport(task: TaskDetails, now: number, cells: number | undefined): string {
  const { attempts, timeline, timelineIsCut, questions, children, outcome, log, output } = task;
  const { deliveries, actions } = task;
  const { entries, failed, open } = task.timelineSummary;
  const more = timelineIsCut
    ? `  ${timeline.length} of ${entries} entries are shown: those that failed (${failed}) or have not ended (${open}), and the newest.\n`
    : "";
  const parts: readonly (readonly [title: string, text: string])[] = [
    ["Attempts", indentedTable(attemptColumns(now), attempts, cells)],
    ["Stack", attempts.flatMap(({ stack }) => (stack === undefined ? [] : stackText(stack, cells))).join("")],
    ["Timeline", `${indentedTable(timelineColumns(task, now), timeline, cells)}${more}`],
    ["Calls", indentedTable(callColumns, children, cells)],
    ["Questions", questions.map((each) => `${wrapped(questionText(each), 2, cells)}\n`).join("")],
    ["Log", log.map((each) => `${wrapped(logText(each), 2, cells)}\n`).join("")],
    ["Output", output.map((each) => `${wrapped(jsonText(each["content"]), 2, cells)}\n`).join("")],
    ["Outcome", outcome === null ? "" : `${wrapped(jsonText(outcome.body), 2, cells)}\n`],
    ["Deliveries", indentedTable(deliveryColumns, deliveries, cells)],
    [
      "Actions",
      indentedTable(
        actionColumns.filter(([title]) => title !== "TASK OR TOOL"),
        actions,
        cells,
      ),
    ],
  ];
  const sections = parts.filter(([, text]) => text !== "").map(([title, text]) => `\n${title}\n${text}`);
  return `${head(task, now, cells)}${sections.join("")}`;
}

/** What a task waits for, in words. */
const waitText: Readonly<Record<AdminWaitReason, string>> = {
  question: "an answer",
  event: "an event",
  call: "a call of another tool",
  sleep: "a time",
  retry: "the next try",
  limit: "a limit",
  slot: "a process with room",
};

function head(task: TaskDetails, now: number, cells: number | undefined): string {
  const {
    id,
    wireId,
    state,
    waitsFor,
    tool,
    toolVersion,
    principal,
    generation,
    method,
    error,
    statusMessage,
  } = task;
  const {
    createdAt,
    startedAt,
    finishedAt,
    expiresAt,
    wakesAt,
    cancelRequestedAt,
    abandonedAt,
    retrieved,
    progress,
  } = task;
  const lines: readonly (readonly [name: string, text: string | false | null])[] = [
    ["task", id],
    ["client's id", wireId !== id && wireId],
    ["tool", `${tool}${toolVersion === null ? "" : `, version ${toolVersion}`} (${generation}, ${method})`],
    ["state", waitsFor === null ? state : `${state}, for ${waitText[waitsFor]}`],
    ["error", error],
    ["status", statusMessage !== error && statusMessage],
    ["progress", progress && JSON.stringify(progress)],
    ["principal", principal ?? "unidentified"],
    ["created", `${timeText(createdAt)}, ${spanText(now - createdAt)} ago`],
    ["started", startedAt !== null && `${timeText(startedAt)}, after ${spanText(startedAt - createdAt)}`],
    ["ended", finishedAt !== null && `${timeText(finishedAt)}, after ${spanText(finishedAt - createdAt)}`],
    ["retrieved", retrieved && `${timeText(retrieved.at)}, by ${retrieved.via}`],
    [finishedAt === null ? "ends by" : "kept until", expiresAt === null ? "no limit" : timeText(expiresAt)],
    ["resumes", wakesAt !== null && timeText(wakesAt)],
    [
      "abandoned",
      abandonedAt !== null && `cancelled at ${timeText(abandonedAt)}, unless its caller comes back`,
    ],
    ["cancelled", cancelRequestedAt !== null && `requested at ${timeText(cancelRequestedAt)}`],
    ["blocked", task.blocked !== null && blockedText(task.blocked)],
    ["  it had", task.blocked !== null && task.blocked.was],
    ["  has now", task.blocked !== null && task.blocked.is],
    ["attempts", attemptsText(task)],
    ["suspected", task.suspicion && suspicionText(task.suspicion)],
    ["owner", task.owner],
    ["parent", task.parent],
    ["retry of", task.retryOf],
    ["retried as", task.retriedAs],
    ["trace", task.traceId],
    ["scopes", task.requiredScopes.join(" ") || null],
    ["arguments", jsonText(task.arguments)],
  ];
  return lines
    .map(([name, text]) =>
      text === false || text === null ? "" : `${name.padEnd(headIndent)}${hanging(text, cells)}\n`,
    )
    .join("");
}

/** A text beside the name of its line, with a hanging indent. */
function hanging(text: string, cells: number | undefined): string {
  return wrapped(text, headIndent, cells).slice(headIndent);
}

function attemptsText({ attempt, failures, crashes }: TaskDetails): string {
  const why = [
    ...(failures > 0 ? [`threw ${failures} ${times(failures)}`] : []),
    ...(crashes > 0 ? [`interrupted by a crash ${crashes} ${times(crashes)}`] : []),
  ];
  return `${attempt}${why.length === 0 ? "" : `: ${why.join(", ")}`}`;
}

function times(count: number): string {
  return count === 1 ? "time" : "times";
}

function attemptColumns(now: number): readonly Column<TaskDetails["attempts"][number]>[] {
  return [
    ["#", 2, ({ number }) => number, "right"],
    ["STARTED", 20, ({ startedAt }) => timeText(startedAt)],
    ["RAN", 6, ({ startedAt, endedAt }) => spanText((endedAt ?? now) - startedAt)],
    ["END", 8, ({ end, endedAt }) => end ?? (endedAt === null ? "running" : "")],
    ["OWNER", 8, ({ owner }) => owner.slice(0, 8)],
    ["WHY", 10, ({ error }) => error],
  ];
}

/** Only the last attempt that threw has a stack. */
function stackText(stack: string, cells: number | undefined): string {
  return `${wrapped(stack, 2, cells)}\n`;
}

function timelineColumns({ createdAt }: TaskDetails, now: number): readonly Column<TimelineEntry>[] {
  const afterText = ({ begunAt, doneAt }: TimelineEntry): string => {
    const after = begunAt ?? doneAt;
    return after === null ? "" : `+${spanText(after - createdAt)}`;
  };
  const tookText = ({ begunAt, doneAt, durationMs }: TimelineEntry): string => {
    const took = durationMs ?? (doneAt === null && begunAt !== null ? now - begunAt : null);
    return took === null ? "" : `${spanText(took)}${doneAt === null ? "…" : ""}`;
  };
  return [
    ["AFTER", 6, afterText, "right"],
    ["TOOK", 6, tookText, "right"],
    ["KIND", 5, ({ kind }) => kind],
    ["NAME", 8, ({ key }) => key],
    ["", 10, entryNotes],
  ];
}

function entryNotes({ method, doneAt, tries, until, error, limit }: TimelineEntry): string {
  const notes = [
    ...(doneAt === null ? [limit === undefined ? "open" : `waits for the limit ${limit}`] : []),
    ...(method !== null && method !== "elicitation/create" ? [method] : []),
    ...(tries > 0 ? [`retried ${tries} ${times(tries)}`] : []),
    ...(until !== null ? [`until ${timeText(until)}`] : []),
    ...(error !== null ? [`failed: ${error}`] : []),
  ];
  return notes.join(", ");
}

const callColumns: readonly Column<TaskSummary>[] = [
  ["TASK", 38, ({ id }) => id],
  ["TOOL", 8, ({ tool }) => tool],
  ["STATE", 8, ({ state }) => state],
];

const deliveryColumns: readonly Column<TaskDelivery>[] = [
  ["WEBHOOK", 8, ({ webhook }) => webhook],
  ["EVENT", 9, ({ event }) => event],
  ["TRIES", 5, ({ tries }) => tries, "right"],
  ["NEXT", 20, ({ nextAt }) => (nextAt === null ? "given up" : timeText(nextAt))],
  ["LAST ERROR", 12, ({ problem }) => problem],
];

function questionText({ key, method, params }: TaskDetails["questions"][number]): string {
  return describeQuestion(key, { method, params: isJsonObject(params) ? params : {} });
}

function logText(line: ShownLine): string {
  const { at, level, text, data, step } = line;
  const where = typeof step === "string" ? ` [${step}]` : "";
  const more = data === undefined ? "" : ` ${JSON.stringify(data)}`;
  return `${String(at)} ${String(level).padEnd(7)} ${String(text)}${more}${where}`;
}

function indentedTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  cells: number | undefined,
): string {
  if (rows.length === 0) return "";
  return (
    notedTable(columns, rows, cells === undefined ? undefined : cells - 2)
      .replaceAll(/^/gm, "  ")
      .trimEnd() + "\n"
  );
}

/** Puts the text on one line if it fits beside a name on a narrow terminal. */
function jsonText(value: unknown): string {
  if (typeof value === "string") return value;
  const text = JSON.stringify(value) ?? "";
  return text.length <= 60 ? text : JSON.stringify(value, undefined, 2);
}

/** Why no process can continue the task, and which code met it last. */
function blockedText({ problem, since, tries, version, deploy }: Blocked): string {
  const tried = tries === 1 ? "tried once" : `tried ${tries} times`;
  const code = `${version === null ? "" : `, last with version ${version}`}${deploy === null ? "" : ` of deploy ${deploy}`}`;
  return `since ${timeText(since)}, ${tried}${code}: ${problem}`;
}

function suspicionText({ since, clearedAt }: Suspicion): string {
  const from = since === null ? "" : `since ${timeText(since)}, `;
  if (clearedAt !== null) return `of ending its process, ${from}cleared at ${timeText(clearedAt)}`;
  return `of ending its process, ${from}so it runs beside no other suspect`;
}
