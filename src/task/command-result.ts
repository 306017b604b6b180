import type { TaskCommandName } from "./command.ts";
import type { StoredDelivery } from "./delivery.ts";
import type { TaskRecord } from "./record.ts";
import type { Turns } from "./turns.ts";

/** Why a command changed nothing. None of these is a fault: callers decide what each means. */
export type Refusal =
  /** no such task */
  | "unknown"
  /** the task is finished; the first settlement won */
  | "finished"
  /** the token is not the one that holds the task */
  | "fenced"
  /** the state does not allow it, for a reason other than these */
  | "state"
  /** the journal already contains the key */
  | "duplicate"
  /** the limit on the number of tasks is reached */
  | "quota"
  /** the idempotency key belongs to another call */
  | "conflict"
  /** another task has the id, or the wire id in this generation and scope */
  | "taken"
  /** callers at another owner wait for the task, or may come back for it */
  | "awaited"
  /** the time of the event has not come yet */
  | "not_due";

export type Refused = { readonly ok: false; readonly reason: Refusal };
type Changed = { readonly ok: true; readonly task: TaskRecord };

/** A task whose record cannot be read: damaged, or not written by a store. */
export interface UnreadableTask {
  readonly id: string;
  /** What is wrong with it, as a sentence. */
  readonly problem: string;
}

interface SpecialResults {
  /** `created: false`: the same call was made before under its idempotency key, and `task` is that call's task. */
  create: (Changed & { readonly created: boolean }) | Refused;
  /** `accepted`: the keys of the accepted answers; empty if no question was open. */
  answer_inputs: (Changed & { readonly accepted: readonly string[] }) | Refused;
  /** `isNew`: no event with its `dedupeId` came before. `ended`: the key of the wait that it ended. */
  send_event: (Changed & { readonly isNew: boolean; readonly ended: string | null }) | Refused;
  /** `unheld`: its handler had started, and no attempt that could react to the cancel held it. */
  cancel: (Changed & { readonly unheld: boolean }) | Refused;
  claim: {
    readonly ok: true;
    /** Now running, each under its token. */
    readonly tasks: readonly TaskRecord[];
    readonly unreadable: readonly UnreadableTask[];
    /** Pass these to the next claim. */
    readonly turns: Turns;
    /** True if tasks with a handler here may wait because their handler's limit is reached. */
    readonly heldBack: boolean;
  };
  wake: { readonly ok: true; readonly woken: number; readonly unreadable: readonly UnreadableTask[] };
  reclaim:
    | {
        readonly ok: true;
        readonly reclaimed: number;
        readonly unreadable: readonly UnreadableTask[];
        /** Where the next page begins; null on the last page. */
        readonly next: string | null;
      }
    | Refused;
  delete_expired: { readonly ok: true; readonly deleted: readonly string[] };
  release_key: { readonly ok: true } | Refused;
  delete: { readonly ok: true } | Refused;
  pause_tool: { readonly ok: true };
  resume_tool: { readonly ok: true };
  /** As they are after they were taken. */
  claim_deliveries: { readonly ok: true; readonly deliveries: readonly StoredDelivery[] };
  end_delivery: { readonly ok: true };
  retry_delivery: { readonly ok: true };
  resend_deliveries: { readonly ok: true; readonly resent: number };
  trim_deliveries: { readonly ok: true; readonly dropped: number };
  keep_secret: { readonly ok: true; readonly value: string | null };
}

export type CommandResult<N extends TaskCommandName = TaskCommandName> = {
  [K in N]: K extends keyof SpecialResults ? SpecialResults[K] : Changed | Refused;
}[N];
