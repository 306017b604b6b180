/**
 * Changes of webhook deliveries. A process takes a delivery until a given time; after that, others may take it. So a message may be sent
 * twice, but is never lost.
 */
export interface DeliveryCommands {
  /** Takes up to `limit` due deliveries of a webhook, earliest first, to be sent until `until` (epoch ms). */
  claim_deliveries: { readonly hook: string; readonly limit: number; readonly until: number };
  /**
   * A delivery was accepted, or must not be sent. Changes nothing if another process has taken it since: `tries` is its count when it was
   * taken.
   */
  end_delivery: { readonly seq: number; readonly tries: number };
  /** The same for a delivery to be sent again at `at` (epoch ms); `null`: it is given up. With `problem`, it failed. */
  retry_delivery: {
    readonly seq: number;
    readonly tries: number;
    readonly at: number | null;
    readonly problem: string | null;
  };
  /** Makes up to `limit` given-up deliveries of a webhook due again. */
  resend_deliveries: { readonly hook: string; readonly limit: number };
  /** Deletes, oldest first, up to `limit` deliveries of changes before `before` (epoch ms), and of those beyond the newest `most`. */
  trim_deliveries: { readonly most: number; readonly before: number; readonly limit: number };
}
