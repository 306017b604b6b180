import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { main } from "../../src/cli/main.ts";
import type { Run, RunOptions } from "./run-cli.ts";
import { program, root, stateOfTests } from "./run-cli.ts";

interface MainOptions extends RunOptions {
  /** Of a terminal. */
  readonly columns?: number;
  readonly rows?: number;
  readonly now?: () => number;
}

/** A command in this process, with its output in pipes, or for a terminal of so many columns: quicker than a process of its own. */
export async function runMain(
  args: readonly string[],
  { cwd = root, env = {}, input = "", columns, rows, now = Date.now }: MainOptions = {},
): Promise<Run> {
  const stdout = Object.assign(
    new PassThrough(),
    columns === undefined ? {} : { isTTY: true, columns, rows },
  );
  const stderr = new PassThrough();
  const written = Promise.all([text(stdout), text(stderr)]);
  const io = {
    stdin: Readable.from([input]) as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
    env: {
      PATH: process.env["PATH"],
      HOME: cwd,
      HOLDFAST_STATE: stateOfTests,
      HOLDFAST_KEYRING: "off",
      ...env,
    },
    cwd,
    program,
    now,
  };
  const code = await main(args, io);
  stdout.end();
  stderr.end();
  const [out, err] = await written;
  return { code, stdout: out, stderr: err };
}
