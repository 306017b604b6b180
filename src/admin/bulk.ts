import { requestHash } from "../runtime/call-keys.ts";
import type { BulkJob, BulkTask, NewBulkJob } from "../task/bulk.ts";
import { HoldfastError } from "../task/fault.ts";
import { isTerminal } from "../task/outcome.ts";
import type { TaskRecord } from "../task/record.ts";
import { taskId } from "../task/record-changes.ts";
import type { BulkCounts } from "../store/admin-store.ts";
import { type TaskSelection } from "./admin.ts";
import {
  mostBulkIds,
  mostInBulk,
  type BulkAction,
  type BulkJobShown,
  type BulkOptions,
  type BulkResult,
} from "./task-operations.ts";
import { adminOf } from "./admin-store-of.ts";
import type { BulkRunner, RunnerServices } from "./bulk-runner.ts";
import { invalid } from "./operation.ts";
import { selectTasks, adminStateOf } from "./select-tasks.ts";

/** The number of tasks to find, and to add to a job, at a time. */
const page = 1_000;

/** How long a request waits for a job (ms), and how often it looks at one that another process works on. */
const answerWithinMs = 10_000;
const lookEveryMs = 250;

/** How many jobs to forget when another one is made. */
const mostForgotten = 5;

/** The number of jobs under way in which the same action is looked for. */
const mostUnderWay = 100;

/** What an operator asks for, apart from how: the same is the same job while it is not done. */
interface Asked {
  readonly action: BulkAction;
  readonly selection: TaskSelection;
  readonly options: BulkOptions;
}

/** Makes, starts, shows and ends bulk jobs. `BulkRunner` works on them. */
export class BulkActs {
  readonly #services: RunnerServices;
  readonly #runner: BulkRunner;
  /** What is being selected and started right now, by `nameOf`. */
  readonly #starting = new Map<string, Promise<string>>();

  constructor(services: RunnerServices, runner: BulkRunner) {
    this.#services = services;
    this.#runner = runner;
  }

  async act(
    actor: string,
    action: BulkAction,
    selection: TaskSelection,
    options: BulkOptions,
  ): Promise<BulkResult> {
    const { dryRun = false, job } = options;
    const asked = { action, selection, options };
    if (action === "extend" && options.until === undefined && job === undefined)
      throw invalid("Give until: the time until which to extend the tasks.");
    const id =
      job === undefined
        ? await (dryRun ? this.#previewed(actor, asked) : this.#startedAs(actor, asked))
        : await this.#given(job, asked);
    if (!dryRun) {
      if (job !== undefined) await this.#start(actor, action, id);
      await this.#within(answerWithinMs, id);
    }
    const { done, created, refused } = await this.show(id);
    return { job: id, done, created, refused };
  }

  async show(id: string): Promise<BulkJobShown> {
    const { bulk } = adminOf(this.#services.store);
    const job = await this.#job(id);
    const [counts, changed, refused] = await Promise.all([
      bulk.counts(id),
      bulk.tasks(id, job.startedAt === null ? null : "done", -1, mostBulkIds),
      bulk.tasks(id, "refused", -1, mostBulkIds),
    ]);
    return shownJob(job, counts, changed, refused);
  }

  async cancel(actor: string, id: string): Promise<BulkJobShown> {
    const { store, now } = this.#services;
    await this.#job(id);
    const result = await store.write<"end_bulk">({ type: "end_bulk", now: now(), id, cancelledBy: actor });
    if (!result.ok) {
      const problem = result.reason === "state" ? "was not started" : "has already ended";
      throw new HoldfastError("finished", `Bulk job ${id} ${problem}.`);
    }
    return this.show(id);
  }

  async #job(id: string): Promise<BulkJob> {
    const job = await adminOf(this.#services.store).bulk.get(id);
    if (job === undefined) throw new HoldfastError("unknown_task", `There is no bulk job ${id}.`);
    return job;
  }

  /** A request for a job says what it is for, so that nobody deletes what was to be cancelled. */
  async #given(id: string, { action, selection, options: { until } }: Asked): Promise<string> {
    const job = await this.#job(id);
    const isSame = job.action === action && requestHash(selectionOf(job)) === requestHash(selection);
    if (!isSame) throw invalid(`Bulk job ${id} is another action, or has another selection.`);
    if (until !== undefined && until !== job.options.until)
      throw invalid(`Bulk job ${id} extends to another time.`);
    return id;
  }

  async #previewed(actor: string, asked: Asked): Promise<string> {
    return (await this.#underWay(asked)) ?? (await this.#select(actor, asked));
  }

  /** Of several equal requests at the same time, one selects. */
  async #startedAs(actor: string, asked: Asked): Promise<string> {
    const name = nameOf(asked);
    const starting = this.#starting.get(name) ?? this.#startNow(actor, asked);
    this.#starting.set(name, starting);
    try {
      return await starting;
    } finally {
      this.#starting.delete(name);
    }
  }

  async #startNow(actor: string, asked: Asked): Promise<string> {
    const same = await this.#underWay(asked);
    if (same !== undefined) return same;
    const id = await this.#select(actor, asked);
    await this.#start(actor, asked.action, id);
    return id;
  }

  async #underWay(asked: Asked): Promise<string | undefined> {
    const jobs = await adminOf(this.#services.store).bulk.underWay(mostUnderWay);
    const name = nameOf(asked);
    const same = jobs.find((job) => nameOf({ ...job, selection: selectionOf(job) }) === name);
    return same?.id;
  }

  /** Freezes what matches now, newest first. Resolves with the job. */
  async #select(actor: string, { action, selection, options }: Asked): Promise<string> {
    const { store, now, randomBytes } = this.#services;
    const { limit = mostInBulk } = options;
    const { principal, text, ...rest } = selection;
    const createdAt = now();
    const job: NewBulkJob = {
      id: taskId(createdAt, randomBytes),
      actor,
      action,
      selection: principal === null ? { ...rest, principal } : rest,
      principal: principal ?? null,
      text: text ?? null,
      options: keptOptions(options),
      createdAt,
    };
    await this.#forgetOld(createdAt);
    const meant = new Set<string>();
    let from = 0;
    let after: string | null = null;
    do {
      const { tasks, next }: Awaited<ReturnType<typeof selectTasks>> = await selectTasks(
        adminOf(store),
        { retried: false, ...selection },
        Math.min(page, limit - from),
        after,
      );
      const fitting = tasks.filter((task) => fits(action, task)).map(({ id }) => id);
      const tops = action === "retry" && selection.cause !== undefined ? await this.#failedAbove(tasks) : [];
      const taskIds = [...fitting, ...tops].filter((id) => !meant.has(id));
      for (const id of taskIds) meant.add(id);
      if (taskIds.length > 0 || next === null)
        await store.write({ type: "add_bulk_tasks", now: now(), job, from, taskIds });
      from += taskIds.length;
      after = next;
    } while (after !== null && from < limit);
    return job.id;
  }

  /** The tasks at the top that failed and were not run again: what failed below with a cause is run again by them. */
  async #failedAbove(tasks: readonly TaskRecord[]): Promise<readonly string[]> {
    const roots = new Set(tasks.flatMap(({ parent }) => parent?.root ?? []));
    const tops = await Promise.all([...roots].map((root) => this.#services.store.get(root)));
    return tops.flatMap((top) =>
      top !== undefined && adminStateOf(top) === "failed" && top.retriedAs === undefined ? top.id : [],
    );
  }

  /** Jobs that were only previewed, and those that ended long ago. They are looked for from the oldest on. */
  async #forgetOld(now: number): Promise<void> {
    const { store } = this.#services;
    for (const { id } of await adminOf(store).bulk.old(now, mostForgotten))
      await store.write({ type: "delete_bulk", now, id });
  }

  async #start(actor: string, action: BulkAction, id: string): Promise<void> {
    const { store, now } = this.#services;
    await store.write({ type: "start_bulk", now: now(), id, by: { actor, action, job: id } });
  }

  /** Works on it, or watches another process do so. */
  async #within(ms: number, id: string): Promise<void> {
    const { after } = this.#services;
    const isLate = Promise.withResolvers<"late">();
    const cancelTimer = after(ms, () => isLate.resolve("late"));
    try {
      for (;;) {
        const worked = this.#runner.run(id);
        worked.catch(() => undefined); // it may fail after the answer
        if ((await Promise.race([worked, isLate.promise])) === "late") return;
        const { endedAt } = await this.#job(id);
        if (endedAt !== null) return;
        const rest = new Promise<void>((resolve) => void after(lookEveryMs, resolve));
        if ((await Promise.race([rest, isLate.promise])) === "late") return;
      }
    } finally {
      cancelTimer();
    }
  }
}

function nameOf({ action, selection, options }: Asked): string {
  return requestHash(action, selection, keptOptions(options));
}

function keptOptions({ limit, until, fromStart }: BulkOptions): BulkJobShown["options"] {
  return {
    ...(limit !== undefined && { limit }),
    ...(until !== undefined && { until }),
    ...(fromStart === true && { fromStart }),
  };
}

function selectionOf({ selection, principal, text }: BulkJob): TaskSelection {
  return { ...selection, ...(principal !== null && { principal }), ...(text !== null && { text }) };
}

/** Whether the action is possible in the task's state. What failed below a task is run again by it, or not at all. */
function fits(action: BulkAction, { state, parent }: TaskRecord): boolean {
  if (action === "extend") return true;
  if (action === "retry" && parent !== null) return false;
  return isTerminal(state) === (action !== "cancel");
}

export function shownJob(
  job: BulkJob,
  counts: BulkCounts,
  changed: readonly BulkTask[],
  refused: readonly BulkTask[],
): BulkJobShown {
  const { id, action, actor, options, total, createdAt, startedAt, endedAt, cancelledBy } = job;
  return {
    job: id,
    state: stateOf(job),
    action,
    actor,
    selection: selectionOf(job),
    options,
    counts: { total, ...counts },
    createdAt,
    startedAt,
    endedAt,
    cancelledBy,
    done: changed.map(({ taskId: of }) => of),
    created: changed.flatMap(({ created }) => created ?? []),
    refused: refused.map(({ taskId: of, code, message }) => ({
      id: of,
      code: code ?? "internal",
      message: message ?? "",
    })),
  };
}

function stateOf({ startedAt, endedAt, cancelledBy }: BulkJob): BulkJobShown["state"] {
  if (startedAt === null) return "previewed";
  if (endedAt === null) return "running";
  return cancelledBy === null ? "done" : "cancelled";
}
