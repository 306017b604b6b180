import type { ArtifactBlobs } from "../runtime/blobs/artifact-blobs.ts";
import type { BulkJob, BulkTask } from "../task/bulk.ts";
import type { Clock } from "../runtime/clock.ts";
import { HoldfastError, isStoreFault } from "../task/fault.ts";
import { TaskActs, type ActServices, type Recording } from "./act-on-task.ts";
import { adminOf } from "./admin-store-of.ts";
import { ProcessGone } from "./refusals.ts";

/** The number of tasks to change concurrently. */
const atOnce = 100;

/** How long a process has a job to itself without a word (ms). Two that work on the same job act on each task once all the same. */
const leaseMs = 10_000;

/** How often to look for jobs whose process is gone (ms). */
const lookEveryMs = 2_000;

const mostJobs = 100;

export interface RunnerServices extends ActServices {
  /** Where artifacts are, if not in the store; left out if this process cannot know. */
  readonly blobs?: ArtifactBlobs | undefined;
  readonly after: Clock["after"];
  readonly every: Clock["every"];
}

/**
 * Works on bulk jobs in this process.
 * - A task's end in its job is stored in the write that acts on it, so a job that is taken up again acts on no task twice.
 * - A fault of the store ends the work, not the job: whoever looks next goes on.
 */
export class BulkRunner {
  readonly #services: RunnerServices;
  readonly #tasks: TaskActs;
  readonly #running = new Map<string, Promise<void>>();
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
      for (const { id, heldUntil } of jobs) if ((heldUntil ?? 0) <= now) this.run(id).catch(() => undefined);
    } catch {
      // The next look tries again.
    }
  }

  async #workOn(id: string): Promise<void> {
    const { store, now } = this.#services;
    const { bulk } = adminOf(store);
    while (!this.#isStopped) {
      const hold = { type: "hold_bulk", now: now(), id, until: now() + leaseMs } as const;
      const held = await store.write<"hold_bulk">(hold);
      if (!held.ok) return;
      const tasks = await bulk.tasks(id, null, -1, atOnce);
      if (tasks.length === 0) {
        await store.write({ type: "end_bulk", now: now(), id, cancelledBy: null });
        return;
      }
      await this.#actOnAll(held.job, tasks);
    }
  }

  async #actOnAll(job: BulkJob, tasks: readonly BulkTask[]): Promise<void> {
    const ends = await Promise.allSettled(tasks.map((task) => this.#actOn(job, task)));
    const faults = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
    // Single tasks may be locked or damaged. If none can be changed, the fault is the store's.
    const ofStore = faults.filter(isFaultOfStore);
    if (ofStore.length > 0 && ofStore.length === ends.length) throw ofStore[0];
    const { store, now } = this.#services;
    await Promise.all(
      tasks.map(async ({ job: of, place }, index) => {
        const end = ends[index];
        if (end?.status !== "rejected") return;
        const why = whyNot(end.reason);
        await store.write({ type: "refuse_bulk_task", now: now(), task: { job: of, place }, ...why });
      }),
    );
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
