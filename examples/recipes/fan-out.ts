import type { Tasks } from "holdfast";
import * as z from "zod";

/** A tool that checks any number of links, each in a task of its own, and goes on after links that fail. */
export function addCheckLinks(
  tasks: Tasks,
  statusOf: (url: string, signal: AbortSignal) => Promise<number>,
): void {
  const checkLink = tasks.tool(
    "check_link",
    {
      description: "Checks one link",
      inputSchema: z.object({ url: z.string() }),
      outputSchema: z.object({ url: z.string(), problem: z.string().optional() }),
      concurrency: 50, // on all processes together
    },
    async ({ url }, task) => {
      try {
        const status = await task.step("get", { retries: 2, timeoutMs: "10s" }, ({ signal }) =>
          statusOf(url, signal),
        );
        return {
          content: [],
          structuredContent: status < 400 ? { url } : { url, problem: `status ${status}` },
        };
      } catch (error) {
        return { content: [], structuredContent: { url, problem: String(error) } };
      }
    },
  );

  tasks.tool(
    "check_links",
    { description: "Checks links", inputSchema: z.object({ urls: z.array(z.string()).max(10_000) }) },
    async ({ urls }, task) => {
      const calls = urls.map((url) => ({ tool: checkLink, arguments: { url } }));
      const results = await task.all("links", calls, { concurrency: 100 });
      const broken = results.flatMap(({ structuredContent: { url, problem } }) =>
        problem === undefined ? [] : [`${url}: ${problem}`],
      );
      return [`${urls.length - broken.length} of ${urls.length} links work.`, ...broken].join("\n");
    },
  );
}
