import type { Delivery, StoredDelivery } from "../task/delivery.ts";

/** What is stored for webhooks and has not come to them. Commands write it, with the changes that it tells of. */
export interface Outbox {
  /** When the next delivery of a webhook is due (epoch ms), also of those that somebody has taken; or null. */
  nextDueAt(hook: string): Promise<number | null>;
  /** What waits of each webhook that something waits of, in the order of their names. No number goes beyond `most`. */
  counts(most: number): Promise<readonly WaitingDeliveries[]>;
  /** What waits of a task among the newest `lookedThrough` of all that waits, in the order of its changes. */
  ofTask(taskId: string, lookedThrough: number): Promise<readonly StoredDelivery[]>;
}

/** What waits of one webhook. */
export interface WaitingDeliveries {
  readonly hook: string;
  /** Those that are due or will be. */
  readonly waiting: number;
  /** Those that were given up, and are kept for a while. */
  readonly givenUp: number;
  /** The newest failure of those that are left; null where none has failed. */
  readonly lastFailure: { readonly at: number; readonly problem: string } | null;
}

/** Deliveries of a webhook to look for: those that are due at `now`, earliest first, or that were given up. */
export interface DeliveryQuery {
  readonly hook: string;
  /** Null: given up. */
  readonly now: number | null;
  readonly limit: number;
}

/** Deliveries that are too many, or too old. */
export interface ExcessQuery {
  readonly most: number;
  readonly before: number;
  readonly limit: number;
}

/** A write to the outbox. */
export type OutboxWrite =
  | { readonly do: "keep_delivery"; readonly delivery: Delivery }
  /** It is due again at that time, and was taken once more. */
  | { readonly do: "claim_delivery"; readonly seq: number; readonly until: number }
  /** These two where it was not taken since. */
  | {
      readonly do: "retry_delivery";
      readonly seq: number;
      readonly tries: number;
      readonly at: number | null;
      /** Undefined leaves what is known of failures as it is. */
      readonly failure: { readonly at: number; readonly problem: string } | undefined;
    }
  | { readonly do: "end_delivery"; readonly seq: number; readonly tries: number }
  | { readonly do: "resend_delivery"; readonly seq: number; readonly now: number }
  | { readonly do: "drop_delivery"; readonly seq: number };
