import { TaskCallError, type Tasks } from "holdfast";
import * as z from "zod";

/** The external services of the tools. */
export interface Packages {
  test(name: string): Promise<number>;
  publish(version: string, idempotencyKey: string): Promise<void>;
}

export function addRelease(tasks: Tasks, packages: Packages): void {
  const testPackage = tasks.tool(
    "test_package",
    {
      description: "Runs the tests of a package",
      inputSchema: z.object({ name: z.string() }),
      outputSchema: z.object({ passed: z.number() }),
      concurrency: 8, // for all callers together
    },
    async ({ name }, task) => {
      const passed = await task.step("test", () => packages.test(name));
      return { content: [], structuredContent: { passed } };
    },
  );

  const approve = tasks.tool(
    "approve",
    {
      description: "Asks for approval",
      inputSchema: z.object({ what: z.string() }),
      requires: ["elicitation"],
    },
    async ({ what }, task) => {
      const { action } = await task.elicit("approve", {
        message: `${what}?`,
        requestedSchema: { type: "object", properties: {} },
      });
      if (action !== "accept") throw new Error("nobody approved it");
      return { content: [{ type: "text", text: "approved" }] };
    },
  );

  tasks.tool(
    "release",
    {
      description: "Tests all packages, asks for approval and publishes them",
      inputSchema: z.object({ version: z.string(), names: z.array(z.string()) }),
      requires: ["elicitation"],
    },
    async ({ version, names }, task) => {
      const calls = names.map((name) => ({ tool: testPackage, arguments: { name } }));
      // Twenty at a time; the keys are ["tests", 0], ["tests", 1] and so on.
      const results = await task.all("tests", calls, { concurrency: 20 });
      const passed = results.reduce((sum, { structuredContent }) => sum + structuredContent.passed, 0);
      try {
        // The user is asked as if this task had asked.
        await task.call("approve", approve, { what: `Release ${version} after ${passed} tests` });
      } catch (error) {
        if (!(error instanceof TaskCallError)) throw error;
        return { content: [{ type: "text", text: `not released: ${error.message}` }] };
      }
      await task.step("publish", ({ idempotencyKey }) => packages.publish(version, idempotencyKey));
      return { content: [{ type: "text", text: `released ${version} after ${passed} tests` }] };
    },
  );
}
