import type { Delivery, StoredDelivery } from "../task/delivery.ts";

/** Webhook messages that have not been accepted yet. Commands write them together with the changes that they report. */
export interface Outbox {
  /** When the next delivery of a webhook is due (epoch ms), including those already taken; or null. */
  nextDueAt(hook: string): Promise<number | null>;
  /** Counts for each webhook with waiting messages, sorted by name. No number is above `most`. */
  counts(most: number): Promise<readonly WaitingDeliveries[]>;
  /** Waiting messages about a task, among the newest `lookedThrough` of all, in the order of its changes. */
  ofTask(taskId: string, lookedThrough: number): Promise<readonly StoredDelivery[]>;
  /** Waiting messages with a smaller `seq`, newest first. */
  before(seq: number, limit: number): Promise<readonly StoredDelivery[]>;
}

/** Waiting messages of one webhook. */
export interface WaitingDeliveries {
  readonly hook: string;
  /** Messages that are or will be due. */
  readonly waiting: number;
  /** When the first of these changes was made (epoch ms), of the first that are due; null if none waits. */
  readonly oldestAt: number | null;
  /** Messages that were given up, and are kept for a while. */
  readonly givenUp: number;
  /** The newest failure of these messages; null if none has failed. */
  readonly lastFailure: { readonly at: number; readonly problem: string } | null;
}

/** Selects deliveries of a webhook: those due at `now`, or `later`, earliest first, or those given up. */
export interface DeliveryQuery {
  readonly hook: string;
  /** Null: those given up. */
  readonly now: number | null;
  readonly later?: true;
  readonly limit: number;
}

/** Selects deliveries that are too many, or too old. */
export interface ExcessQuery {
  readonly most: number;
  readonly before: number;
  readonly limit: number;
}

/** A write to the outbox. */
export type OutboxWrite =
  | { readonly do: "keep_delivery"; readonly delivery: Delivery }
  /** Taken once more, and due again at that time. */
  | { readonly do: "claim_delivery"; readonly seq: number; readonly until: number }
  /** The next two apply only if it was not taken since. */
  | {
      readonly do: "retry_delivery";
      readonly seq: number;
      readonly tries: number;
      readonly at: number | null;
      /** Whether it was not sent, so that its last try does not count. */
      readonly unsent: boolean;
      /** Undefined leaves the known failure unchanged. */
      readonly failure: { readonly at: number; readonly problem: string } | undefined;
    }
  | { readonly do: "end_delivery"; readonly seq: number; readonly tries: number }
  | { readonly do: "resend_delivery"; readonly seq: number; readonly now: number }
  | { readonly do: "drop_delivery"; readonly seq: number };
