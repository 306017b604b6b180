/**
 * What is done to the deliveries of webhooks. Whoever takes one has it until a time, and then others may: so a webhook may be told twice, and is never
 * forgotten.
 */
export interface DeliveryCommands {
  /** Takes up to `limit` deliveries of a webhook that are due, earliest first, to be sent until `until` (epoch ms). */
  claim_deliveries: { readonly hook: string; readonly limit: number; readonly until: number };
  /** A delivery has come to its webhook, or is not to be sent. Changes nothing where others have taken it meanwhile: `tries` is its number when it was taken. */
  end_delivery: { readonly seq: number; readonly tries: number };
  /** The same of one that is to be sent again at `at` (epoch ms); `null`: it is given up. With `problem` it has failed. */
  retry_delivery: {
    readonly seq: number;
    readonly tries: number;
    readonly at: number | null;
    readonly problem: string | null;
  };
  /** Up to `limit` deliveries of a webhook that were given up are due again. */
  resend_deliveries: { readonly hook: string; readonly limit: number };
  /** Deletes, oldest first, up to `limit` deliveries of changes before `before` (epoch ms), and of those beyond the newest `most`. */
  trim_deliveries: { readonly most: number; readonly before: number; readonly limit: number };
}
