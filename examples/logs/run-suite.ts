import type { Tasks } from "holdfast";
import * as z from "zod";

/** How one file of a suite ended. */
export interface FileResult {
  readonly passed: number;
  readonly failures: string[];
}

export type RunFile = (file: string) => Promise<FileResult>;

/** A tool that runs the tests of many files: its log shows its progress, and failures can be read before the last file has run. */
export function addRunSuite(tasks: Tasks, runFile: RunFile): void {
  const inputSchema = z.object({ files: z.array(z.string()) });
  tasks.tool(
    "run_suite",
    { description: "Runs the tests of files", inputSchema },
    async ({ files }, task) => {
      let failed = 0;
      for (const file of files) {
        const { passed, failures } = await task.step(["file", file], () => runFile(file));
        failed += failures.length;
        void task.log(failures.length === 0 ? "info" : "error", file, { passed, failed: failures.length });
        for (const failure of failures) void task.output(`${file}: ${failure}`);
      }
      return { content: [{ type: "text", text: `${failed} tests failed` }], isError: failed > 0 };
    },
  );
}
