import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { example } from "../docs/example-process.ts";

it("shows a tool with a log and an output, and its test", async () => {
  const child = spawn(process.execPath, ["--test-reporter=tap", example("logs/run-suite.test.ts")]);
  const exited = once(child, "exit");
  const [output] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(output).toMatch(/^# pass 1$/m);
  expect(output).toMatch(/^# fail 0$/m);
  expect(await exited).toEqual([0, null]);
});
