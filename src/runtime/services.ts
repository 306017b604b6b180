import type { TaskStore } from "../store/store.ts";
import type { Clock } from "./clock.ts";
import type { ServerEvents } from "./events/server-events.ts";
import type { RuntimeOptions } from "./options.ts";
import type { ProcessCounts } from "./reports/process-counts.ts";
import type { TaskTraces } from "./telemetry/task-traces.ts";
import type { ServerTelemetry } from "./telemetry/telemetry.ts";
import type { Registry } from "./tool/registry.ts";
import type { Webhook } from "./webhooks/webhook-options.ts";
import type { UnreadableTasks } from "./unreadable-tasks.ts";

/** Told of each run of a step's function. */
export type OnStepRun = (taskId: string, key: string) => void;

/** What every part of the runtime is given. */
export interface Services {
  readonly store: TaskStore;
  readonly registry: Registry;
  readonly options: RuntimeOptions;
  readonly clock: Clock;
  /** Hears of faults that no caller is there for. */
  readonly onError: (error: unknown) => void;
  readonly unreadable: UnreadableTasks;
  readonly onStepRun?: OnStepRun | undefined;
  /** What is told of changes of tasks; mostly none. */
  readonly webhooks: readonly Webhook[];
  /** What is reported to the store; undefined where nothing is. */
  readonly counts?: ProcessCounts | undefined;
  /** Undefined where nobody listens. */
  readonly events?: ServerEvents | undefined;
  /** Undefined where nothing is traced and measured. */
  readonly telemetry?: ServerTelemetry | undefined;
  /** Undefined where nothing is traced. */
  readonly traces?: TaskTraces | undefined;
}
