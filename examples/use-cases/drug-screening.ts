import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { NonRetryableError, type Tasks } from "holdfast";
import * as z from "zod";

/** What the laboratory already has: a service that runs jobs, and a folder with libraries of molecules. */
export interface Laboratory {
  /** The service's URL, which ends with a slash. */
  readonly service: string;
  readonly libraries: string;
}

const Hit = z.object({ name: z.string(), smiles: z.string(), score: z.number() });
const Library = z.string().regex(/^\w+$/, "The name of a library");

const Job = z.discriminatedUnion("state", [
  z.object({ state: z.literal("running") }),
  z.object({ state: z.literal("succeeded"), scores: z.array(Hit) }),
  z.object({ state: z.literal("failed"), error: z.string() }),
  z.object({ state: z.literal("cancelled") }),
]);

const longestPauseMs = 60_000;

/** Screens libraries of molecules in batches, each a job of the laboratory's service. */
export function addDrugScreening(tasks: Tasks, { service, libraries }: Laboratory): void {
  const screenBatch = tasks.tool(
    "screen_batch",
    {
      inputSchema: z.object({ library: Library, from: z.number(), to: z.number(), reference: z.string() }),
      outputSchema: z.object({ scores: z.array(Hit) }),
      concurrency: 4, // as many jobs as the service allows at a time, for all callers together
      park: false, // a batch counts as long as its job runs, not only while it polls
      retry: { attempts: 5 }, // if the service does not answer
    },
    async ({ library, from, to, reference }, task) => {
      // With a name that we choose it is one job, however often it is started, and it can be cancelled even if no answer came.
      const job = new URL(`jobs/${task.id}`, service);
      try {
        const molecules = (await moleculesOf(library)).slice(from, to);
        await task.step("start", () => send(job, "PUT", { reference, molecules }));
        for (let poll = 0; ; poll++) {
          const seen = Job.parse(await send(job, "GET"));
          if (seen.state === "succeeded") return { content: [], structuredContent: { scores: seen.scores } };
          if (seen.state === "failed") throw new NonRetryableError(seen.error);
          if (seen.state === "cancelled") throw new NonRetryableError("Somebody cancelled the job.");
          // This takes no slot of the server, even if the job lasts for hours.
          await task.sleep(["poll", poll], Math.min(longestPauseMs, 1_000 * 2 ** poll));
        }
      } catch (error) {
        if (task.cancelled) await send(job, "DELETE");
        throw error;
      }
    },
  );
  screenBatch.disable(); // for clients, and not for the tool below

  tasks.tool(
    "screen_library",
    {
      description: "Ranks the molecules of a library by how alike they are to a reference molecule",
      inputSchema: z.object({
        library: Library,
        reference: z.string().describe("The reference molecule, as SMILES"),
        batchSize: z.number().int().min(1).max(1_000).default(100),
        atLeast: z.number().min(0).max(1).default(0.3).describe("The score from which a molecule is a hit"),
      }),
      outputSchema: z.object({ screened: z.number(), hits: z.array(Hit) }),
    },
    async ({ library, reference, batchSize, atLeast }, task) => {
      const { length } = await moleculesOf(library);
      const starts = Array.from({ length: Math.ceil(length / batchSize) }, (_, batch) => batch * batchSize);
      let done = 0;
      const batches = await Promise.all(
        starts.map(async (from, batch) => {
          const to = Math.min(from + batchSize, length);
          const called = await task.call(["batch", batch], screenBatch, { library, from, to, reference });
          const hits = called.structuredContent.scores.filter(({ score }) => score >= atLeast);
          // Clients can read these while the other batches run.
          if (hits.length > 0) void task.output(`${from + 1}–${to}: ${listed(hits)}`);
          done += 1;
          task.progress(done, starts.length, `${done} of ${starts.length} batches are screened`);
          return hits;
        }),
      );
      const hits = batches.flat().toSorted((a, b) => b.score - a.score);
      const text = `${length} molecules screened, ${hits.length} hits: ${listed(hits.slice(0, 10))}`;
      return { content: [{ type: "text", text }], structuredContent: { screened: length, hits } };
    },
  );

  async function moleculesOf(library: string): Promise<{ name: string; smiles: string }[]> {
    const lines = await readFile(join(libraries, `${library}.smi`), "utf8");
    return [...lines.matchAll(/^(\S+) (.+)$/gm)].map(([, smiles = "", name = ""]) => ({ name, smiles }));
  }
}

async function send(job: URL, method: "PUT" | "GET" | "DELETE", body?: object): Promise<unknown> {
  const response = await fetch(job, { method, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`${method} ${job.pathname} was answered with ${response.status}.`);
  return response.json();
}

function listed(hits: readonly z.infer<typeof Hit>[]): string {
  return hits.map(({ name, score }) => `${name} ${score.toFixed(2)}`).join(", ");
}
