import type { Tasks } from "holdfast";
import * as z from "zod";
import { place, priceOf, ShopError } from "./shop.ts";

export function addOrder(tasks: Tasks): void {
  tasks.tool(
    "order",
    {
      description: "Orders what the shop has",
      inputSchema: z.object({ item: z.string() }),
      // A handler that throws runs again, three times in all. What its steps returned is kept.
      retry: { attempts: 3, backoff: { firstMs: 200 } },
      // No attempt works for longer than this at a stretch.
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
