import * as z from "zod/mini";
import { storedFile, questionMethod, timelineEntry, timelineSummary, taskDelivery } from "./task-parts.ts";
import { attemptEnds, type TaskAttempt } from "../task/attempts.ts";
import { blockReasons, type Blocked, type BlockReason } from "../task/blocked.ts";
import type { Suspicion } from "../task/outcome.ts";
import { generationNames, taskMethods, type Progress, type TaskMethod } from "../task/record.ts";
import {
  behindMs,
  content,
  contentOrNull,
  countUpTo,
  described,
  flag,
  list,
  member,
  membersOf,
  type Members,
  type Schema,
  number,
  optional,
  sent,
  shapeNames,
  shown,
  text,
  textOrNull,
  time,
  timeOrNull,
  whole,
  wholeOrNull,
} from "./shape.ts";
import { allWaitReasons } from "../task/task-line.ts";

/** The states of tasks as operators see them. */
export const adminTaskStates = [
  "queued",
  "waiting",
  "running",
  "input_required",
  "blocked",
  "completed",
  "failed",
  "cancelled",
] as const;

/** What unfinished tasks wait for. */
export const adminWaitReasons = allWaitReasons;

/** What is counted of the tasks of a tool: those that have not ended, and those that have. */
export const openCounts = ["queued", "waiting", "running", "inputRequired", "blocked"] as const;
export const endCounts = ["completed", "failed", "cancelled"] as const;
export const countNames = [...openCounts, ...endCounts] as const;

/**
 * The state of a task as operators see it. `queued`: it can be claimed. `running`: its handler works. `waiting`: the handler sleeps, waits
 * for an event or another task, or pauses before its next try, in memory or not. `input_required`: a question is open, of the task or of one
 * below it. `blocked`: no process can continue it now, because the code does not fit it. `failed`: it ended with an error, or with a result that reports a tool error.
 */
export type AdminTaskState = (typeof adminTaskStates)[number];

const taskState = z.enum(adminTaskStates).register(shapeNames, { id: "AdminTaskState" });

/** What an unfinished task waits for. `slot`: a process that has room for it. */
export type AdminWaitReason = (typeof adminWaitReasons)[number];

const waitReason = z.enum(adminWaitReasons).register(shapeNames, { id: "AdminWaitReason" });

class DeclaredTaskSelection {
  /** Left out: all states. */
  readonly states? = optional(described(list(taskState), "Tasks in these states."));
  readonly waitsFor? = optional(described(list(waitReason), "Tasks that wait for one of these."));
  readonly tool? = optional(described(text, "Tasks of this tool."));
  /** `null`: tasks of unidentified callers. */
  readonly principal? = optional(described(textOrNull, "Tasks of this caller."));
  /** The process that runs it, will run it, or ran it last. */
  readonly owner? = optional(described(text, "Tasks that this process runs, will run or ran last."));
  /** Created at this time (epoch ms) or later, and before `createdBefore`. */
  readonly createdFrom? = optional(described(number, "Tasks created at this time (epoch ms) or later."));
  readonly createdBefore? = optional(described(number, "Tasks created before this time (epoch ms)."));
  /** Failed tasks with this cause, of any tool. */
  readonly cause? = optional(described(text, "Tasks that failed with this cause."));
  /** Text that the status text contains, ignoring case. */
  readonly text? = optional(described(text, "Tasks whose status text contains this, ignoring case."));
  /** Whether it was run again as another task. Left out: both in a list; in a bulk action, only tasks that were not. */
  readonly retried? = optional(
    described(flag, "If true, tasks that were run again as others; if false, the rest."),
  );
}

/** Selects the tasks that match every given property. */
export interface TaskSelection extends DeclaredTaskSelection {}

export const taskSelection = sent<TaskSelection>("TaskSelection", DeclaredTaskSelection);

class DeclaredTaskQuery extends DeclaredTaskSelection {
  /** Maximum number of tasks, from 1 to 1,000. Default 50. */
  readonly limit? = optional(countUpTo(1_000, 50, "The maximum number of tasks."));
  /** The `next` of the previous page. */
  readonly after? = optional(described(text, "The next of the previous page."));
}

/** Which tasks to list; all if nothing is given. */
export interface TaskQuery extends DeclaredTaskQuery {}

export const taskQuery = membersOf<TaskQuery>(DeclaredTaskQuery);

const progress: Members<Progress> = {
  progress: number,
  total: z.optional(number),
  message: z.optional(content(text, "")),
};

const blocked: Members<Blocked> = {
  reason: z.enum(Object.keys(blockReasons) as BlockReason[]),
  problem: content(text, ""),
  key: textOrNull,
  was: contentOrNull,
  is: contentOrNull,
  version: wholeOrNull,
  deploy: textOrNull,
  since: time,
  tries: whole,
};

const suspicion: Members<Suspicion> = { shared: whole, since: timeOrNull, clearedAt: timeOrNull };

class DeclaredTaskSummary {
  readonly id = member(text);
  readonly tool = member(text);
  readonly state = member(taskState);
  /** What it waits for; null if it does not wait, or if that is not known. */
  readonly waitsFor = member(z.nullable(waitReason));
  readonly principal = member(textOrNull);
  readonly generation = member(z.enum(generationNames));
  readonly method = member(z.enum(Object.keys(taskMethods) as TaskMethod[]));
  readonly createdAt = member(time);
  readonly startedAt = member(timeOrNull);
  readonly updatedAt = member(time);
  readonly finishedAt = member(timeOrNull);
  /** When an unfinished task must end, or a finished one is deleted; null: never. */
  readonly expiresAt = member(timeOrNull);
  /** When a waiting task continues by itself; null if it does not. */
  readonly wakesAt = member(timeOrNull);
  readonly attempt = member(whole);
  readonly statusMessage = member(contentOrNull);
  readonly progress: Progress | null = member(z.nullable(z.object(progress)) as Schema<Progress | null>);
  /** What went wrong, shortened. Only for a failed task. */
  readonly error = member(contentOrNull);
  /** What its failure has in common with others; null if it did not fail. */
  readonly cause = member(textOrNull);
  /** The process that runs it, or will run it. */
  readonly owner = member(textOrNull);
  /** The task whose handler called this one. */
  readonly parent = member(textOrNull);
  /** The task as which it was last run again. */
  readonly retriedAs = member(textOrNull);
  /** Why no process can continue it now; null if it is not blocked. */
  readonly blocked: Blocked | null = member(z.nullable(z.object(blocked)) as Schema<Blocked | null>);
}

/** A task in a list. Times are epoch milliseconds. */
export interface TaskSummary extends DeclaredTaskSummary {}

export const taskSummary = shown<TaskSummary>("TaskSummary", DeclaredTaskSummary);

class DeclaredTaskPage {
  /** Newest first. */
  readonly tasks = member(list(taskSummary));
  /** Where the next page begins; null on the last page. A page may be shorter than its limit, or even empty, before the last. */
  readonly next = member(textOrNull);
  /** How far the replica was behind that it was read from (ms); left out if it was read from the store itself. */
  readonly behindMs? = optional(behindMs);
}

/** Tasks of a list, and where the next page begins. */
export interface TaskPage extends DeclaredTaskPage {}

export const taskPage = shown<TaskPage>("TaskPage", DeclaredTaskPage);

class DeclaredOpenQuestion {
  readonly key = member(text);
  readonly method = member(questionMethod);
  readonly params = member(content(z.unknown(), null));
}

/** A question of a task that nobody has answered yet. */
export interface OpenQuestion extends DeclaredOpenQuestion {}

const openQuestion = shown<OpenQuestion>("OpenQuestion", DeclaredOpenQuestion);

/** A line of a log, or a part of an output, as in `task://ID/log`. */
export type ShownLine = Readonly<Record<string, unknown>>;

const shownLine = z.record(text, z.unknown()) as Schema<ShownLine>;

class DeclaredAdminAction {
  readonly seq = member(whole);
  readonly at = member(time);
  readonly actor = member(text);
  readonly action = member(text);
  readonly taskId = member(textOrNull);
  readonly tool = member(textOrNull);
  readonly detail = member(content(z.unknown(), null));
}

/** An action of an operator, as the store keeps it. */
export interface AdminAction extends DeclaredAdminAction {}

export const adminAction = shown<AdminAction>("AdminAction", DeclaredAdminAction);

const attempt: Members<TaskAttempt> = {
  number: whole,
  owner: text,
  startedAt: time,
  endedAt: timeOrNull,
  end: z.nullable(z.enum(attemptEnds)),
  error: z.optional(content(text, "")),
  stack: z.optional(content(text, "")),
};

const taskAttempt = z.object(attempt).register(shapeNames, { id: "TaskAttempt" }) as Schema<TaskAttempt>;

class DeclaredTaskDetails extends DeclaredTaskSummary {
  /** The client's name for the task. */
  readonly wireId = member(text);
  readonly arguments = member(content(z.unknown(), null));
  /** The task that this one retries. */
  readonly retryOf = member(textOrNull);
  readonly toolVersion = member(wholeOrNull);
  /** How often its handler threw and had to run again, and how often its process was lost since its last write. */
  readonly failures = member(whole);
  readonly crashes = member(whole);
  /**
   * Whether it was suspected of ending its processes: since when, how many of the crashes count against nobody because others ran there too,
   * and when it was cleared (null: not yet). Null if it never was.
   */
  readonly suspicion: Suspicion | null = member(z.nullable(z.object(suspicion)) as Schema<Suspicion | null>);
  readonly cancelRequestedAt = member(timeOrNull);
  /** When it is cancelled unless its caller comes back, who left or did not get its id; null if neither. */
  readonly abandonedAt = member(timeOrNull);
  /** When its result first went to its principal, and by which method or polling tool; null if it did not. */
  readonly retrieved = member(z.nullable(z.object({ at: time, via: text })));
  readonly requiredScopes = member(list(text));
  /** The trace id (W3C Trace Context) of the request that created it. */
  readonly traceId = member(textOrNull);
  /** The first attempt and the last ones. */
  readonly attempts = member(list(taskAttempt));
  /** In a long one, entries that failed or have not ended, and the newest of the others. */
  readonly timeline = member(list(timelineEntry));
  /** True if the timeline shown is not complete: `timeline` gives all of it, page by page. */
  readonly timelineIsCut = member(flag);
  /** Of all entries, shown or not. */
  readonly timelineSummary = member(timelineSummary);
  readonly questions = member(list(openQuestion));
  /** Tasks that its handler called and that have not ended, failed or were cancelled midway, in the order of the calls: the newest 100. */
  readonly children = member(list(taskSummary));
  readonly outcome = member(
    z.nullable(
      z.object({ kind: z.enum(["result", "error_result", "error"]), body: content(z.unknown(), null) }),
    ),
  );
  /** The last lines. */
  readonly log = member(content(list(shownLine), []));
  readonly output = member(content(list(shownLine), []));
  /** The files that it has made, as far as they are complete. */
  readonly files = member(content(list(storedFile), []));
  /** Messages about it that webhooks have not accepted yet, among the newest 10,000 waiting messages of all webhooks. */
  readonly deliveries = member(list(taskDelivery));
  /** Operators' actions on it, newest first. */
  readonly actions = member(list(adminAction));
}

/** All details of one task. */
export interface TaskDetails extends DeclaredTaskDetails {}

export const taskDetails = shown<TaskDetails>("TaskDetails", DeclaredTaskDetails);

/** Numbers of tasks, by what they wait for. */
export type WaitCounts = Readonly<Record<AdminWaitReason, number>>;

const waitCounts = z.object(
  Object.fromEntries(adminWaitReasons.map((reason) => [reason, whole])) as Record<
    AdminWaitReason,
    typeof whole
  >,
);

class DeclaredToolCounts {
  readonly tool = member(text);
  readonly queued = member(whole);
  readonly waiting = member(whole);
  readonly running = member(whole);
  readonly inputRequired = member(whole);
  readonly blocked = member(whole);
  /** What unfinished tasks wait for, among them those of `inputRequired` (`question`) and `queued` (`slot`). */
  readonly waitsFor: WaitCounts = member(waitCounts);
  readonly completed = member(whole);
  readonly failed = member(whole);
  readonly cancelled = member(whole);
  /** When it was paused, and by whom; null if it is not paused. */
  readonly paused = member(z.nullable(z.object({ since: time, actor: text })));
  /** Which of the numbers are estimates. Left out: none is. */
  readonly estimated? = optional(list(z.enum(countNames)));
}

/**
 * How many tasks a tool has. Every exact number is at most `most`, which also limits how many unfinished tasks are examined: one that reaches
 * it is an estimate, or "at least so many" on a store that makes none.
 */
export interface ToolCounts extends DeclaredToolCounts {}

class DeclaredCounts {
  readonly most = member(whole);
  readonly tools = member(list(shown<ToolCounts>("ToolCounts", DeclaredToolCounts)));
  /** How far the replica was behind that they were read from (ms); left out if they were read from the store itself. */
  readonly behindMs? = optional(behindMs);
}

/** How many tasks there are, by tool and state. */
export interface Counts extends DeclaredCounts {}

export const counts = shown<Counts>("Counts", DeclaredCounts);

class DeclaredTaskChanges {
  readonly tasks = member(z.nullable(list(text)));
}

/** The ids of tasks that have changed in any way; null: any task may have. */
export interface TaskChanges extends DeclaredTaskChanges {}

export const taskChanges = shown<TaskChanges>("TaskChanges", DeclaredTaskChanges);

class DeclaredRetryOptions {
  /** New arguments instead of those of the old task. Its results are then not kept, unless `keepUpTo` names the last one to keep. */
  readonly arguments?: unknown = optional(
    described(
      z.record(text, z.unknown()),
      "Run it with these arguments instead; results for the old ones are not kept.",
    ),
  );
  /** Keeps only what succeeded up to the end of the step, question or other entry with this name. */
  readonly keepUpTo? = optional(
    described(text, "Keep only what succeeded up to and including this step or question."),
  );
  /** Repeats everything as a new task, with new idempotency keys: a payment that went through is made again. Default false. */
  readonly fromStart? = optional(
    described(flag, "Repeat everything as new, also payments that went through."),
  );
}

/**
 * How a task runs again. Left out: everything in its journal that succeeded is kept, also in the journals of calls that failed, and the
 * rest runs again, with the same idempotency keys.
 */
export interface RetryOptions extends DeclaredRetryOptions {}

export const retryOptions = membersOf<RetryOptions>(DeclaredRetryOptions);
