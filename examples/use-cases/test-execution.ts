import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Tasks } from "holdfast";
import * as z from "zod";
import { TapReader, type TestEnd } from "./tap-reader.ts";

const Failure = z.object({ test: z.string(), error: z.string().optional(), location: z.string().optional() });
const Summary = z.object({
  passed: z.number(),
  failed: z.number(),
  skipped: z.number(),
  failures: z.array(Failure),
});

const marks = { passed: "✔", failed: "✖", skipped: "﹣" } as const;

/** Runs the tests of projects, each of which is a folder in `projects`. */
export function addTestExecution(tasks: Tasks, projects: string): void {
  tasks.tool(
    "run_tests",
    {
      description: "Runs the tests of a project. Its log says how each test ended, as soon as it has",
      inputSchema: z.object({
        project: z.string().regex(/^\w[\w-]*$/, "The name of a project"),
        only: z.string().min(1).optional().describe("Runs the tests whose names match this pattern"),
      }),
      outputSchema: Summary,
      // Tests have effects of their own, such as rows in a database. If the server dies while they run, the task fails and says so; its log is kept.
      onCrash: "fail",
      timeoutMs: 30 * 60_000,
    },
    async ({ project, only }, task) => {
      // One process, so that all of it ends with it on every system.
      const args = ["--test", "--test-reporter=tap", "--test-isolation=none"];
      if (only !== undefined) args.push(`--test-name-pattern=${only}`);
      const child = spawn(process.execPath, args, {
        cwd: join(projects, project),
        env: ownEnvironment(),
        stdio: ["ignore", "pipe", "pipe"],
        signal: task.signal,
        killSignal: "SIGKILL",
      });
      const closed = once(child, "close");
      closed.catch(() => undefined); // awaited below, when all lines were read
      createInterface({ input: child.stderr }).on("line", (line) => void task.log("warning", cut(line)));

      const tap = new TapReader();
      const ends: TestEnd[] = [];
      for await (const line of createInterface({ input: child.stdout })) {
        const read = tap.read(line);
        if (read === undefined) continue;
        if ("printed" in read) {
          void task.log("debug", cut(read.printed));
          continue;
        }
        ends.push(read);
        const { test, end, error, location } = read;
        const why = error === undefined ? "" : `: ${error.split("\n")[0]}`;
        void task.log(
          end === "failed" ? "error" : "info",
          cut(`${marks[end]} ${test}${why}`),
          location && { location },
        );
        void task.status(`${ends.length} tests have ended, ${count(ends, "failed")} failed`);
      }
      const [code, signal] = (await closed) as [number | null, NodeJS.Signals | null];

      const failures = ends
        .filter(({ end }) => end === "failed")
        .map(({ test, error, location }) => ({ test, error, location }));
      if (code !== 0 && failures.length === 0)
        throw new Error(
          `The test process ended with ${signal ?? code} before all tests had. The log says more.`,
        );
      const summary = {
        passed: count(ends, "passed"),
        failed: failures.length,
        skipped: count(ends, "skipped"),
        failures,
      };
      const text = `${summary.passed} passed, ${summary.failed} failed, ${summary.skipped} skipped`;
      return { content: [{ type: "text", text }], structuredContent: summary, isError: failures.length > 0 };
    },
  );
}

/** A line of a log. */
function cut(line: string): string {
  return line.length > 1_000 ? `${line.slice(0, 1_000)} …` : line;
}

function count(ends: readonly TestEnd[], wanted: TestEnd["end"]): number {
  return ends.filter(({ end }) => end === wanted).length;
}

/** What programs need, and not the secrets of the server. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const names = ["PATH", "HOME", "LANG", "TMPDIR", "TEMP", "SystemRoot", "USERPROFILE"];
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}
