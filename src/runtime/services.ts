import type { TaskStore } from "../store/store.ts";
import type { ArtifactBlobs } from "./blobs/artifact-blobs.ts";
import type { StoreClock } from "./clock.ts";
import type { Commits, UnreadableTasks } from "./observed-store.ts";
import type { StartedProcesses } from "./exec/started-processes.ts";
import type { Lease } from "./dispatch/lease.ts";
import type { ServerEvents } from "./events/server-events.ts";
import type { EventUrls } from "./event-urls.ts";
import type { OwnContext } from "./own-context.ts";
import type { Limits } from "./limits/limits.ts";
import type { RuntimeSettings } from "./options.ts";
import type { ProcessCounts } from "./reports/process-counts.ts";
import type { ServerTelemetry, TaskTraces } from "./telemetry/telemetry.ts";
import type { Registry } from "./tool/registry.ts";
import type { ThreadPool } from "./threads/thread-pool.ts";
import type { Webhook } from "./webhooks/webhook-options.ts";

/** Called for each run of a step's function. */
export type OnStepRun = (taskId: string, key: string) => void;

/** What every part of the runtime gets. */
export interface Services {
  readonly store: TaskStore;
  /** What became of the writes of this process. */
  readonly commits: Commits;
  readonly lease: Lease;
  readonly registry: Registry;
  readonly options: RuntimeSettings;
  readonly clock: StoreClock;
  /** Where handlers begin, and learn that they should end. */
  readonly inOwnContext: OwnContext;
  /** Receives faults that no caller sees. */
  readonly onError: (error: unknown) => void;
  /** Those that steps have started on this machine. */
  readonly processes: StartedProcesses;
  /** Those that steps run on. */
  readonly threads: ThreadPool;
  readonly limits: Pick<Limits, "of" | "onChanges" | "stop" | "inUse">;
  readonly unreadable: UnreadableTasks;
  readonly eventUrls: EventUrls;
  readonly onStepRun?: OnStepRun | undefined;
  /** Where artifacts are kept, if not in the store. */
  readonly blobs?: ArtifactBlobs | undefined;
  /** The webhooks to notify of changes of tasks; usually none. */
  readonly webhooks: readonly Webhook[];
  /** The counts to report to the store; undefined if there are none. */
  readonly counts?: ProcessCounts | undefined;
  /** Undefined if nothing listens. */
  readonly events?: ServerEvents | undefined;
  /** Undefined if nothing is traced and measured. */
  readonly telemetry?: ServerTelemetry | undefined;
  /** Undefined if nothing is traced. */
  readonly traces?: TaskTraces | undefined;
}
