import * as z from "zod/mini";
import { bulkActions, type BulkAction } from "../task/bulk.ts";
import { taskSelection, type TaskSelection } from "./admin.ts";
import {
  countUpTo,
  described,
  flag,
  list,
  member,
  number,
  optional,
  sent,
  shown,
  text,
  textOrNull,
  time,
  timeOrNull,
  whole,
  type Schema,
} from "./shape.ts";

export type { BulkAction };

export const bulkAction = z.enum(Object.keys(bulkActions) as BulkAction[]);

/** The maximum number of tasks in a bulk job. */
export const mostInBulk = 1_000_000;

/** The number of tasks in each list of an answer. */
export const mostBulkIds = 1_000;

class DeclaredBulkOptions {
  /** Only selects the tasks, and reports which they are. `job` then acts on just these. Default false. */
  readonly dryRun? = optional(described(flag, "Only select the tasks, and report which they are."));
  /** The job of a dry run: acts on the tasks that it selected. */
  readonly job? = optional(described(text, "The job of a dry run: act on the tasks that it selected."));
  /** Maximum number of tasks, from 1 to 1,000,000, which is the default. */
  readonly limit? = optional(countUpTo(mostInBulk, mostInBulk, "The maximum number of tasks."));
  /** For `extend`. */
  readonly until? = optional(described(z.nullable(number), "Epoch milliseconds; null: no limit."));
  /** For `retry`: repeats everything as new tasks, as in `RetryOptions`. Default false. */
  readonly fromStart? = optional(described(flag, "For retry: repeat everything, as new tasks."));
}

/** Options of an action on many tasks. */
export interface BulkOptions extends DeclaredBulkOptions {}

export const bulkOptions = sent<BulkOptions>("BulkOptions", DeclaredBulkOptions);

class DeclaredBulkResult {
  /** The job, whose progress `bulkJob` shows. */
  readonly job = member(text);
  /** The changed tasks; after a dry run, those that would be changed. For `retry`, the old tasks. The first 1,000, as in each list. */
  readonly done = member(list(text));
  /** For `retry`: the new tasks, in the order of `done`. */
  readonly created = member(list(text));
  readonly refused = member(list(z.object({ id: text, code: text, message: text })));
}

/** A bulk job once it is done, or what was done after ten seconds. */
export interface BulkResult extends DeclaredBulkResult {}

export const bulkResult = shown<BulkResult>("BulkResult", DeclaredBulkResult);

const bulkStates = ["previewed", "running", "done", "cancelled"] as const;

class DeclaredBulkJob extends DeclaredBulkResult {
  /** `previewed`: it was not started. `cancelled`: an operator ended it before all was done. */
  readonly state = member(z.enum(bulkStates));
  readonly action = member(bulkAction);
  readonly actor = member(text);
  readonly selection: TaskSelection = member(taskSelection);
  readonly options: BulkJobOptions = member(
    z.object({
      limit: z.optional(whole),
      until: z.optional(z.nullable(number)),
      fromStart: z.optional(flag),
    }) as unknown as Schema<BulkJobOptions>,
  );
  /** The number of selected tasks, and how many of them the action is still to be applied to, was applied to, or refused. */
  readonly counts = member(z.object({ total: whole, open: whole, done: whole, refused: whole }));
  readonly createdAt = member(time);
  readonly startedAt = member(timeOrNull);
  readonly endedAt = member(timeOrNull);
  readonly cancelledBy = member(textOrNull);
}

type BulkJobOptions = Pick<BulkOptions, "limit" | "until" | "fromStart">;

/** A bulk action on tasks that were selected once. */
export interface BulkJobShown extends DeclaredBulkJob {}

export const bulkJob = shown<BulkJobShown>("BulkJob", DeclaredBulkJob);
