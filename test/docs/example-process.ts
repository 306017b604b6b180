import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** The path of a file of examples/, or of one with a whole URL. */
export const example = (name: string): string =>
  fileURLToPath(new URL(name, new URL("../../examples/", import.meta.url)));

/** The environment of the tests without what it says to tests: servers that read variables take none of these for theirs. */
export const outerEnv: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDFAST_")),
);

/** Has something done at the end of a test, or of a suite. */
export type AtEnd = (end: () => Promise<void> | void) => unknown;

export async function newFolder(atEnd: AtEnd = onTestFinished): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-example-"));
  atEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export interface ExampleServer {
  readonly url: string;
  /** Its lines on stdout, as events `line`. */
  readonly output: Interface;
  /** Stops the server in order; resolves with its exit code and signal. */
  stop(): Promise<unknown[]>;
  signal(signal: NodeJS.Signals): void;
}

/** Starts an example that prints its URL, with any free port. */
export async function serveExample(
  name: string,
  cwd: string,
  env: NodeJS.ProcessEnv = {},
  atEnd: AtEnd = onTestFinished,
): Promise<ExampleServer> {
  const server = start(name, [], cwd, env, atEnd);
  const exited = once(server, "exit");
  if (server.stdout === null) throw new Error("The example has no stdout.");
  const output = createInterface({ input: server.stdout });
  const line = await Promise.race([
    once(output, "line").then(([first]) => String(first)),
    exited.then(([code]) => {
      throw new Error(`${name} ended with ${String(code)} before it printed its address.`);
    }),
  ]);
  const stop = (): Promise<unknown[]> => {
    server.kill("SIGTERM");
    return exited;
  };
  return { url: line.trim(), output, stop, signal: (signal) => void server.kill(signal) };
}

/** Runs an example to its end; what it wrote to stdout and stderr. */
export async function runExample(
  name: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const { stdout, stderr } = start(name, args, cwd, env);
  if (stdout === null || stderr === null) throw new Error("The example has no pipes.");
  return (await Promise.all([text(stdout), text(stderr)])).join("");
}

function start(
  name: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
  atEnd: AtEnd = onTestFinished,
): ChildProcess {
  const child = spawn(process.execPath, [example(name), ...args], {
    cwd,
    env: { ...outerEnv, PORT: "0", ...env },
    stdio: "pipe",
  });
  atEnd(() => void child.kill("SIGKILL"));
  return child;
}
