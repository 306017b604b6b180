import type { TaskStore } from "../store/store.ts";
import type { Clock } from "./clock.ts";
import type { ServerEvents } from "./events/server-events.ts";
import type { RuntimeOptions } from "./options.ts";
import type { Registry } from "./tool/registry.ts";
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
  /** Undefined where nobody listens. */
  readonly events?: ServerEvents | undefined;
}
