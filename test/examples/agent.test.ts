import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { example } from "../docs/example-process.ts";

it("shows an agent that is killed while its tools work, and has each of their results once", async () => {
  const env = { ...process.env, STEP_MS: "100" };
  const { stdout } = await promisify(execFile)(process.execPath, [example("agent/demo.ts")], { env });
  expect(stdout).toContain("agent: I have started three tools");
  for (const result of ["Compiled for web.", "All 412 tests passed.", "Version 2 is released."])
    expect(stdout.split(result)).toHaveLength(2);
  expect(stdout).toContain("agent: All three have ended.");
});
