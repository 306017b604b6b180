import { ExecError, type Tasks } from "holdfast";
import * as z from "zod";

/** The programs of a project's checks, by the names under which they are reported. */
export type Checks = Readonly<Record<string, readonly [program: string, ...args: string[]]>>;

/** A tool that runs the checks of a project side by side. Each is a process that survives a deploy of this server. */
export function addChecks(tasks: Tasks, folder: string, checks: Checks): void {
  tasks.tool(
    "run_checks",
    { inputSchema: z.object({ only: z.array(z.string()).optional() }) },
    async ({ only }, task) => {
      const names = Object.keys(checks).filter((name) => only?.includes(name) ?? true);
      let done = 0;
      const run = async (name: string): Promise<string> => {
        const [program = "", ...args] = checks[name] ?? [];
        try {
          await task.exec(name, program, args, { cwd: folder, timeoutMs: "30m" });
          return `${name}: passed`;
        } catch (error) {
          if (!(error instanceof ExecError) || error.exitCode === undefined) throw error;
          await task.output(error.stdout);
          return `${name}: failed with exit code ${error.exitCode}`;
        } finally {
          task.progress(++done, names.length, name);
        }
      };
      return (await Promise.all(names.map(run))).join("\n");
    },
  );
}
