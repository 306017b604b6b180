import type { Tasks } from "holdfast";
import * as z from "zod";
import { place, priceOf, ShopError } from "./shop.ts";

export function addOrder(tasks: Tasks): void {
  tasks.tool(
    "order",
    {
      description: "Orders what the shop has",
      inputSchema: z.object({ item: z.string() }),
      // A handler that throws runs again, up to three times in all. The results of its steps are kept.
      retry: { attempts: 3, backoff: { firstMs: 200 } },
      // The longest time that an attempt may work without a pause.
      timeoutMs: 60_000,
    },
    async ({ item }, task) => {
      const price = await task.step("price", () => priceOf(item));
      const busy = (error: unknown): boolean => error instanceof ShopError && error.status === 503;
      const options = {
        retries: 5,
        backoff: { firstMs: 100, maxMs: 1_000 },
        timeoutMs: 10_000,
        retryIf: busy,
      };
      const number = await task.step("order", options, ({ idempotencyKey }) => place(item, idempotencyKey));
      return { content: [{ type: "text", text: `order ${number}: ${item} for ${price}` }] };
    },
  );
}
