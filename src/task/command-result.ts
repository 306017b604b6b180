import type { TaskCommandName } from "./command.ts";
import type { StoredDelivery } from "./delivery.ts";
import type { TaskRecord } from "./record.ts";
import type { Turns } from "./turns.ts";

/** Why a command changed nothing. None of these is a fault: callers decide what each means to them. */
export type Refusal =
  /** no such task */
  | "unknown"
  /** the task is finished; the first settlement won */
  | "finished"
  /** the token is not the one that holds the task */
  | "fenced"
  /** the state allows it not, for another reason than these */
  | "state"
  /** the journal has the key already */
  | "duplicate"
  /** there are as many tasks as there may be */
  | "quota"
  /** the idempotency key belongs to another call */
  | "conflict"
  /** another task has the id, or the wire id in this generation and scope */
  | "taken"
  /** callers of another owner wait for the task, or may come back for it */
  | "awaited"
  /** the time of the event is still to come */
  | "not_due";

export type Refused = { readonly ok: false; readonly reason: Refusal };
type Changed = { readonly ok: true; readonly task: TaskRecord };

/** A task whose record cannot be read: damaged, or written by something else. */
export interface UnreadableTask {
  readonly id: string;
  /** What is wrong with it, as a sentence. */
  readonly problem: string;
}

interface SpecialResults {
  /** `created: false`: the same call was made before under its idempotency key; `task` is that one. */
  create: (Changed & { readonly created: boolean }) | Refused;
  /** `accepted`: the keys whose answers were taken; empty when none was open. */
  answer_inputs: (Changed & { readonly accepted: readonly string[] }) | Refused;
  /** `isNew`: no event came before under its `dedupeId`; `ended`: the key of the wait that it ended. */
  send_event: (Changed & { readonly isNew: boolean; readonly ended: string | null }) | Refused;
  /** `unheld`: its handler had run, and no attempt held it that would hear of the cancel. */
  cancel: (Changed & { readonly unheld: boolean }) | Refused;
  claim: {
    readonly ok: true;
    /** Running, each under its token. */
    readonly tasks: readonly TaskRecord[];
    readonly unreadable: readonly UnreadableTask[];
    /** For the next claim. */
    readonly turns: Turns;
    /** True where tasks may wait that have a handler here, of which as many run as may. */
    readonly heldBack: boolean;
  };
  wake: { readonly ok: true; readonly woken: number; readonly unreadable: readonly UnreadableTask[] };
  reclaim:
    | {
        readonly ok: true;
        readonly reclaimed: number;
        readonly unreadable: readonly UnreadableTask[];
        /** Where the next page begins; null where this was the last one. */
        readonly next: string | null;
      }
    | Refused;
  delete_expired: { readonly ok: true; readonly deleted: readonly string[] };
  release_key: { readonly ok: true } | Refused;
  delete: { readonly ok: true } | Refused;
  pause_tool: { readonly ok: true };
  resume_tool: { readonly ok: true };
  /** As they are once they were taken. */
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
