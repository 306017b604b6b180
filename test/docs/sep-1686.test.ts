import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { addRenderJob, type JobSystem } from "../../examples/job-front/add-render-job.ts";
import { defaultSettings } from "../../src/runtime/options.ts";
import { text } from "../kit/messages.ts";
import { InMemorySession } from "../kit/in-memory-session.ts";
import { startServer } from "../kit/server.ts";
import { callAs } from "../server/sep-1686/sep.ts";

const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");
const day = 24 * 60 * 60 * 1000;

it("shows code that is compiled", async () => {
  const [, block] = /```ts\n([^]*?)```/.exec(await read("docs/internals/sep-1686.md")) ?? [];
  expect(block).toBe(await read("examples/job-front/add-render-job.ts"));
});

it("says how long tasks are kept, how many there may be, and where nobody is told apart [S-088 S-093]", async () => {
  const page = (await read("docs/internals/sep-1686.md")).replaceAll(/\s+/g, " ");
  const { minTtlMs, maxTtlMs, maxRunMs, maxUnfinishedPerPrincipal } = defaultSettings;
  expect({ minTtlMs, maxTtlMs, maxRunMs }).toEqual({
    minTtlMs: 1_000,
    maxTtlMs: 30 * day,
    maxRunMs: 365 * day,
  });
  expect(page).toContain("within `minTtlMs` and `maxTtlMs`: 1 second and 30 days by default");
  expect(page).toContain("`maxRunMs` alone ends it, 365 days by default");
  expect(page).toContain("Where there is neither principal nor session");
  expect(maxUnfinishedPerPrincipal).toBe(1_000);
  expect((await read("SECURITY.md")).replaceAll(/\s+/g, " ")).toContain(
    "| `maxUnfinishedPerPrincipal` | 1,000 | tasks of one principal that have not ended |",
  );
});

it("keeps which job stands for the requestor's id [S-024]", async () => {
  const started = new Map<string, string>();
  const jobs: JobSystem = {
    start: async (token) => {
      const job = `job-${started.size + 1}`;
      started.set(token, job);
      return job;
    },
    state: async () => "succeeded",
    stop: async () => undefined,
  };
  const { server } = await startServer((tasks) => addRenderJob(tasks, jobs));
  const session = await InMemorySession.open(server);
  const answer = await session.result(callAs(session, { taskId: "mine" }, "render_job", { report: "q3" }));
  expect(answer).toMatchObject(text("job-1 has rendered q3"));
  expect([...started.keys()]).toEqual([expect.stringMatching(/^mine\/.{22,}$/)]);
});
