import type { ArtifactBlobs } from "../runtime/blobs/artifact-blobs.ts";
import { isHeld, type BulkJob, type BulkTask } from "../task/bulk.ts";
import type { Clock } from "../runtime/clock.ts";
import { HoldfastError, isStoreFault } from "../task/fault.ts";
import { TaskActs, type ActServices, type Recording } from "./act-on-task.ts";
import { adminOf, ProcessGone } from "./admin-store-of.ts";

/** The number of tasks to change concurrently. */
const atOnce = 100;

/** How long a process has a job to itself without a word (ms). Two that work on the same job act on each task once all the same. */
const leaseMs = 10_000;

/** How often to look for jobs whose process is gone (ms). */
const lookEveryMs = 2_000;

const mostJobs = 100;

/** How often the store may fail for one task, with seconds in between where it fails for all, before that counts as the task's refusal. */
const mostFaults = 10;

export interface RunnerServices extends ActServices {
  /** Where artifacts are, if not in the store; left out if this process cannot know. */
  readonly blobs?: ArtifactBlobs | undefined;
  /** The store's owner that is this process, if that only operates and is no node. */
  readonly operatorOwner?: string;
  readonly after: Clock["after"];
  readonly every: Clock["every"];
}

/**
 * Works on bulk jobs in this process.
 * - A task's end in its job is stored in the write that acts on it, so a job that is taken up again acts on no task twice.
 * - A fault of the store ends the work, not the job: whoever looks next goes on. It refuses a task only if it comes again and again.
 */
export class BulkRunner {
  readonly #services: RunnerServices;
  readonly #tasks: TaskActs;
  readonly #running = new Map<string, Promise<void>>();
  /** How often the store failed for tasks that are still open, by job and place. */
  readonly #faults = new Map<string, Map<number, number>>();
  #cancelLook = (): void => undefined;
  #isStopped = false;

  constructor(services: RunnerServices) {
    this.#services = services;
    this.#tasks = new TaskActs(services);
  }

  /** From now on, goes on with jobs whose process is gone. */
  start(): void {
    if (this.#isStopped) return;
    let looking = this.#look();
    this.#cancelLook = this.#services.every(lookEveryMs, () => {
      looking = looking.then(() => this.#look());
    });
  }

  /** Resolves when nothing is written any more. Other processes go on, or this one after its next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelLook();
    await Promise.allSettled(this.#running.values());
  }

  /** Resolves when the job is over, or another process works on it. */
  run(id: string): Promise<void> {
    const running = this.#running.get(id) ?? this.#workOn(id).finally(() => this.#running.delete(id));
    this.#running.set(id, running);
    return running;
  }

  async #look(): Promise<void> {
    try {
      const jobs = (await this.#services.store.admin?.bulk.underWay(mostJobs)) ?? [];
      const now = this.#services.now();
      const hold = { now, until: now + leaseMs };
      for (const job of jobs) if (!isHeld(job, hold)) this.run(job.id).catch(() => undefined);
    } catch {
      // The next look tries again.
    }
  }

  /** In passes over the open tasks. What a fault of the store leaves open is tried again in the next pass, while passes change anything. */
  async #workOn(id: string): Promise<void> {
    const { store, now } = this.#services;
    const { bulk } = adminOf(store);
    let after = -1;
    let hasChanged = false;
    let fault: unknown;
    while (!this.#isStopped) {
      const hold = { type: "hold_bulk", now: now(), id, until: now() + leaseMs } as const;
      const held = await store.write<"hold_bulk">(hold);
      if (!held.ok) return void this.#faults.delete(id);
      const tasks = await bulk.tasks(id, null, after, atOnce);
      const last = tasks.at(-1);
      if (last !== undefined) {
        const left = await this.#actOnAll(held.job, tasks);
        hasChanged ||= left.length < tasks.length;
        fault ??= left[0];
        after = last.place;
      } else if (after === -1) {
        await store.write({ type: "end_bulk", now: now(), id, cancelledBy: null });
        this.#faults.delete(id);
        return;
      } else if (!hasChanged) {
        throw fault;
      } else {
        [after, hasChanged, fault] = [-1, false, undefined];
      }
    }
  }

  /** Resolves with the faults of the store that left tasks open. */
  async #actOnAll(job: BulkJob, tasks: readonly BulkTask[]): Promise<readonly unknown[]> {
    const { store, now } = this.#services;
    const ends = await Promise.allSettled(tasks.map((task) => this.#actOn(job, task)));
    const left: unknown[] = [];
    await Promise.all(
      tasks.map(async ({ job: of, place }, index) => {
        const end = ends[index];
        if (end?.status !== "rejected") return;
        if (isFaultOfStore(end.reason) && this.#fails(of, place) < mostFaults)
          return void left.push(end.reason);
        const why = whyNot(end.reason);
        await store.write({ type: "refuse_bulk_task", now: now(), task: { job: of, place }, ...why });
      }),
    );
    return left;
  }

  /** How often the store has failed for the task now. */
  #fails(job: string, place: number): number {
    const ofJob = this.#faults.get(job) ?? new Map<number, number>();
    const times = (ofJob.get(place) ?? 0) + 1;
    this.#faults.set(job, ofJob.set(place, times));
    return times;
  }

  async #actOn({ action, options }: BulkJob, { job, place, taskId }: BulkTask): Promise<void> {
    const recording: Recording = () => ({ bulk: { job, place } });
    const { until = null, fromStart } = options as { readonly until?: number | null; fromStart?: boolean };
    switch (action) {
      case "cancel":
        await this.#tasks.cancel(taskId, recording);
        return;
      case "delete":
        return this.#tasks.delete(taskId, recording);
      case "extend":
        await this.#tasks.extend(taskId, until, recording);
        return;
      case "retry":
        await this.#tasks.retry(taskId, fromStart === true ? { fromStart } : {}, recording);
    }
  }
}

/** Faults that say nothing about the task. Without its keys, a process leaves a job to others. */
function isFaultOfStore(error: unknown): boolean {
  if (error instanceof ProcessGone) return false;
  if (isStoreFault(error)) return true;
  return error instanceof HoldfastError && ["store_closed", "configuration"].includes(error.code);
}

function whyNot(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof HoldfastError) return { code: error.code, message: error.message };
  return { code: "internal", message: "The server made a mistake. Its log says which." };
}
