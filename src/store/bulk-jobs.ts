import type { BulkEnd, BulkJob, BulkTask } from "../task/bulk.ts";
import type { StoredAction } from "../task/record.ts";

/** How many tasks of a job there are, by how the action on them ended. */
export type BulkCounts = Readonly<Record<BulkEnd | "open", number>>;

/** The reads of bulk jobs. Each uses an index. */
export interface BulkJobs {
  get(id: string): Promise<BulkJob | undefined>;
  /** Started jobs that have not ended, oldest first: at most `limit`. */
  underWay(limit: number): Promise<readonly BulkJob[]>;
  /** Jobs with ids below `before` (null: from the newest), newest first: at most `limit`. */
  list(before: string | null, limit: number): Promise<readonly BulkJob[]>;
  /** The oldest jobs, at most `limit`, those among them that are no longer kept at `now`: previewed or ended long ago. */
  old(now: number, limit: number): Promise<readonly BulkJob[]>;
  /** Tasks of a job that ended so (null: that are open) behind a place, in order: at most `limit`. */
  tasks(job: string, endedAs: BulkEnd | null, after: number, limit: number): Promise<readonly BulkTask[]>;
  counts(job: string): Promise<BulkCounts>;
  /** What jobs did to a task, newest job first, each with the action that started the job: at most `limit`, with numbers below `before`. */
  on(
    taskId: string,
    before: number | null,
    limit: number,
  ): Promise<readonly (readonly [StoredAction, BulkTask])[]>;
}
