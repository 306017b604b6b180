import { NonRetryableError } from "holdfast";

/** What the shop answers when it fails. */
export class ShopError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The shop answers ${status}.`);
    this.status = status;
  }
}

/** A shop that breaks down now and then. */
const trouble = [500, 503, 503];

export async function priceOf(item: string): Promise<number> {
  if (item !== "tea") throw new NonRetryableError(`The shop has no ${item}.`);
  return 3;
}

export async function place(_item: string, _idempotencyKey: string): Promise<number> {
  const status = trouble.shift();
  if (status !== undefined) throw new ShopError(status);
  return 42;
}
