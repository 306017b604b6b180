import type { CallToolResult } from "@modelcontextprotocol/server";
import type { TaskContext, Tasks } from "holdfast";
import * as z from "zod";

/** Moves the clock of the pictures forward. */
export type Work = (seconds: number) => void;

const text = (said: string): CallToolResult => ({ content: [{ type: "text", text: said }] });

const approval = {
  type: "object" as const,
  properties: {
    environment: { type: "string" as const, title: "Environment", enum: ["staging", "production"] },
    share: {
      type: "integer" as const,
      title: "Share of traffic, %",
      minimum: 1,
      maximum: 100,
      default: 10,
    },
    tell: { type: "boolean" as const, title: "Notify the team", default: true },
  },
  required: ["environment"],
};

/** Realistic tools, whose work is done as soon as the clock says so. */
export function addSampleTools(tasks: Tasks, work: Work): void {
  const report = tasks.tool(
    "report",
    { inputSchema: z.object({ month: z.string(), goesOn: z.boolean().default(false) }) },
    async ({ month, goesOn }, task) => {
      await step(task, "collect orders", () => work(8.2));
      void task.log("info", "Collected orders", { month, rows: 48_112 });
      task.progress(1, 3, "Orders collected");
      await step(task, "sum up", () => work(1.9));
      task.progress(2, 3, "Writing the PDF");
      if (goesOn) await untilAborted(task);
      await step(task, "write PDF", () => work(12.4));
      return text(`reports/${month}.pdf: 48,112 orders, 2.4 million euros.`);
    },
  );
  tasks.tool("publish", { inputSchema: z.object({ page: z.string() }) }, async ({ page }, task) => {
    await step(task, "render", () => work(0.7));
    work(2.1);
    if (page.startsWith("pricing")) throw new Error(`The mirror eu-2 answered 503 for ${page}`);
    return text(`Published ${page} on 3 mirrors.`);
  });
  tasks.tool(
    "deploy",
    {
      inputSchema: z.object({ service: z.string(), version: z.string() }),
      requires: ["elicitation"],
    },
    async ({ service, version }, task) => {
      await step(task, "build image", () => work(21.4));
      void task.log("info", `Built ${service}:${version}`, { layers: 14, megabytes: 83 });
      await step(task, "run tests", () => work(34.8));
      void task.log("warning", "2 of 1,204 tests were skipped");
      void task.output(`All tests of ${service} ${version} passed.`);
      await task.status(`${service} ${version} is ready to deploy`);
      await task.elicit("approval", {
        message: `Deploy ${service} ${version}? Its tests passed; two were skipped.`,
        requestedSchema: approval,
      });
      return text("Deployed.");
    },
  );
  tasks.tool(
    "campaign",
    { inputSchema: z.object({ name: z.string(), month: z.string() }) },
    async ({ name, month }, task) => {
      await task.status(`Waiting for the report of ${month}`);
      await task.call("report", report, { month, goesOn: true });
      return text(`Sent ${name}.`);
    },
  );
}

async function step(task: TaskContext, name: string, run: () => void): Promise<void> {
  await task.step(name, run);
}

function untilAborted({ signal }: TaskContext): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
}
