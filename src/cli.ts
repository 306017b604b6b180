#!/usr/bin/env node
import { fileURLToPath } from "node:url";
import { nodeVersionProblem } from "./task/package.ts";

const problem = nodeVersionProblem(process.versions.node);
if (problem === undefined) {
  // Imported after the check, since it needs modules that an old Node lacks.
  const { main, redirectConsole } = await import("./cli/main.ts");
  const { argv, stdin, stdout, stderr, env } = process;
  const now = (): number => Date.now();
  redirectConsole({ stderr, env });
  const program = fileURLToPath(import.meta.url);
  process.exitCode = await main(argv.slice(2), {
    stdin,
    stdout,
    stderr,
    env,
    cwd: process.cwd(),
    program,
    now,
  });
} else {
  console.error(problem);
  process.exitCode = 70;
}
