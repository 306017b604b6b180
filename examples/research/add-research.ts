import type { Tasks } from "holdfast";
import * as z from "zod";

/** A tool that asks a service which takes few questions at a time and in a minute, from all tasks and processes together. */
export function addResearch(tasks: Tasks, service: string): void {
  tasks.tool(
    "research",
    { inputSchema: z.object({ questions: z.array(z.string()) }) },
    async ({ questions }, task) => {
      const ask = (question: string): Promise<string> =>
        task.step(["ask", question], { limit: "search", timeoutMs: 30_000 }, async ({ signal }) => {
          const response = await fetch(`${service}?q=${encodeURIComponent(question)}`, { signal });
          if (response.ok) return response.text();
          // If it says when to come back (Retry-After), this step and all others under the limit wait until then.
          throw Object.assign(new Error(`The service answered with ${response.status}.`), { response });
        });
      return (await Promise.all(questions.map(ask))).join("\n");
    },
  );
}
