import { Attempts } from "./execution/attempts.ts";
import { CancelledTasks, Cancellation } from "./execution/cancelled-tasks.ts";
import { LeakedHandlers } from "./execution/run-handler.ts";
import { ChangedTasks, Watchers } from "./changed-tasks.ts";
import { BlockedTasks, Orphans } from "./dispatch/recovery.ts";
import { Creation } from "./dispatch/creation.ts";
import { Dispatcher } from "./dispatch/dispatcher.ts";
import { Drain } from "./dispatch/drain.ts";
import { HandlerChanges, NewerTasks, PausedTools } from "./dispatch/newer-tasks.ts";
import { Ownership } from "./dispatch/ownership.ts";
import { Slots } from "./dispatch/slots.ts";
import { Sweeper } from "./dispatch/sweeper.ts";
import type { Services } from "./services.ts";
import type { TaskRecord } from "../task/record.ts";
import { Reporter } from "./reports/reporter.ts";
import { BlobSweep } from "./blobs/blob-sweep.ts";
import { Timers } from "./timers.ts";
import { Abandonments, Retrievals } from "./own-record.ts";
import { Secrets } from "./secrets.ts";
import { Credentials } from "./tool/received-request.ts";
import { Webhooks } from "./webhooks/webhooks.ts";

/** The parts of a runtime. */
export interface Parts {
  readonly slots: Slots;
  readonly leaked: LeakedHandlers;
  readonly timers: Timers;
  readonly changed: ChangedTasks;
  readonly attempts: Attempts;
  readonly cancelled: CancelledTasks;
  readonly dispatcher: Dispatcher;
  readonly drain: Drain;
  readonly cancellation: Cancellation;
  readonly sweeper: Sweeper;
  readonly ownership: Ownership;
  readonly orphans: Orphans;
  readonly blocked: BlockedTasks;
  readonly handlerChanges: HandlerChanges;
  readonly paused: PausedTools;
  readonly creation: Creation;
  readonly watchers: Watchers;
  readonly webhooks: Webhooks;
  readonly reporter: Reporter;
  readonly retrievals: Retrievals;
  readonly abandonments: Abandonments;
  readonly secrets: Secrets;
  readonly blobSweep: BlobSweep;
}

/** Makes the parts of one runtime, which share its slots and timers. */
export function makeParts(services: Services): Parts {
  const slots = new Slots(services.options.concurrency);
  const timers = new Timers(services.clock);
  const leaked = new LeakedHandlers(services);
  const credentials = new Credentials();
  const cancelled = new CancelledTasks({ services, timers, leaked, credentials });
  const onReleased = (task: TaskRecord): void => void cancelled.notify(task);
  const newer = new NewerTasks(services);
  const paused = new PausedTools();
  const secrets = new Secrets(services);
  // The process that ends a cancelled task which nobody runs also notifies its handler, so it needs that handler and the role "work".
  const yields = (): boolean => newer.yields || !services.options.roles.includes("work");
  const sweeper = new Sweeper(services, { yields, onWoken: () => dispatcher.wake(), onReleased });
  const onSweepAt = (at: number | null): void => sweeper.consider(at);
  const onParked = (task: TaskRecord): void => {
    if (task.state === "cancelled") onReleased(task); // after its frame was dropped, so that its handler did not hear of it
    if (task.state !== "queued") return;
    const { attempts: tries, lane, runAfter, waiting } = task;
    const began = tries.at(-1)?.startedAt ?? null;
    if (lane !== null) return dispatcher.wake(); // something has come for it meanwhile
    sweeper.consider(runAfter);
    const isLate = waiting && runAfter !== null && services.clock.afterJumps(runAfter, began) < runAfter;
    if (isLate) sweeper.look(true); // the clock was set back while it was parked
  };
  const onBlocked = (): void => newer.meetBlocked();
  const setup = { services, leaked, slots, timers, credentials, onSweepAt, onParked, onBlocked, onReleased };
  const attempts = new Attempts(setup);
  const dispatcher = new Dispatcher({ services, slots, attempts, leaked, sweeper, newer, paused });
  const orphans = new Orphans(services);
  const blocked = new BlockedTasks(services, () => dispatcher.wake());
  const handlerChanges = new HandlerChanges({
    services,
    onChange: () => {
      dispatcher.wake();
      void blocked.retry();
    },
    onStored: () => orphans.onOthers(),
  });
  const webhooks = new Webhooks(services);
  const creation = new Creation({
    services,
    slots,
    leaked,
    timers,
    sweeper,
    attempts,
    dispatcher,
    credentials,
  });
  const drain = new Drain({
    services,
    dispatcher,
    attempts,
    creation,
    webhooks,
    handlerChanges,
    blocked,
    onProgress: () => void reporter.report()?.catch(() => undefined), // which it reports itself
  });
  const reporter = new Reporter(services, { slots, attempts, leaked, drain });
  services.clock.onJump((setBackMs) => {
    timers.look();
    sweeper.look(setBackMs > 0);
    if (setBackMs > 0) attempts.setBack(setBackMs, (id, endedAt) => sweeper.end(id, endedAt));
    webhooks.look(setBackMs > 0);
  });
  return {
    slots,
    leaked,
    timers,
    changed: new ChangedTasks(services, [attempts]),
    attempts,
    cancelled,
    dispatcher,
    drain,
    cancellation: new Cancellation(services, sweeper, onReleased),
    sweeper,
    ownership: new Ownership(services, sweeper, () => dispatcher.wake(), {
      paused,
      drain,
      secrets,
      attempts,
    }),
    orphans,
    blocked,
    handlerChanges,
    paused,
    creation,
    watchers: new Watchers(),
    webhooks,
    reporter,
    retrievals: new Retrievals(services),
    abandonments: new Abandonments(services, onSweepAt),
    secrets,
    blobSweep: new BlobSweep(services),
  };
}
