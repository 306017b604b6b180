import { readRun } from "./run.ts";
import { programOf } from "./scenarios.ts";

try {
  const run = readRun(process.argv.slice(2), process.env);
  await programOf(run.scenario)(run);
} catch (error) {
  // Several scenarios are passed by refusing what the server asks for. The suite looks at the exit code, people at the reason.
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
