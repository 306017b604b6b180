import type { Clock } from "../runtime/clock.ts";
import type { Sweeper } from "../runtime/dispatch/sweeper.ts";
import type { TaskStore } from "../store/store.ts";
import type { SdkV1Options } from "./options.ts";

/** What both halves of the adapter are given. */
export interface SdkV1Services {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly sweeper: Pick<Sweeper, "consider" | "ended">;
  readonly options: Required<SdkV1Options>;
}
