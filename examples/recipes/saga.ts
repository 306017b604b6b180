import type { Tasks } from "holdfast";
import * as z from "zod";

/** A service that books something under a key, and takes it back by the same key: a key that it does not know is no error. */
export interface Bookings {
  book(key: string, city: string): Promise<string>;
  cancel(key: string): Promise<void>;
}

/** Books in all services, one after the other, or leaves nothing booked. */
export function addTrip(tasks: Tasks, services: Readonly<Record<string, Bookings>>): void {
  tasks.tool(
    "book_trip",
    { description: "Books a whole trip", inputSchema: z.object({ city: z.string() }) },
    async ({ city }, task) => {
      const begun: { name: string; cancel: () => Promise<void> }[] = [];
      const booked: string[] = [];
      try {
        for (const [name, service] of Object.entries(services)) {
          const key = `${task.id}/${name}`;
          begun.unshift({ name, cancel: () => service.cancel(key) }); // first: an error does not prove that nothing was booked
          booked.push(await task.step(["book", name], { retries: 2 }, () => service.book(key, city)));
        }
        return booked.join(", ");
      } catch (error) {
        for (const { name, cancel } of begun) {
          // A cancelled task has no more steps. If the server dies here, the next one cancels all of them again.
          if (task.cancelled) await cancel();
          else await task.step(["cancel", name], { retries: Infinity }, cancel);
        }
        throw error;
      }
    },
  );
}
