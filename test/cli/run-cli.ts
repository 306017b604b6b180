import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const program = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

/** Where commands of tests keep what they know, unless a test has a place of its own: not with that of whoever runs the tests. */
export const stateOfTests = join(tmpdir(), `holdfast-cli-state-${process.pid}`);
process.on("exit", () => rmSync(stateOfTests, { recursive: true, force: true }));

/** What a person at a shell has, without the variables of whoever runs the tests. */
export function environmentOfTests(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDFAST_")));
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** How a run ended. */
export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command of the built program, under way. */
export interface RunningCli {
  readonly ended: Promise<Run>;
  /** Resolves once stderr has `pattern` in it; rejects if the run ends without. */
  told(pattern: RegExp): Promise<RegExpExecArray>;
  /** The same of stdout. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  /** Nobody reads stdout from now on, as when `head` has seen enough. */
  stopReading(): void;
}

/** A folder that is gone after the test. */
export async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Runs the built program with its output in pipes. */
export async function holdfast(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return startHoldfast(args, options).ended;
}

export function startHoldfast(
  args: readonly string[],
  { cwd = root, env = {}, input }: RunOptions = {},
): RunningCli {
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: {
      ...environmentOfTests(),
      HOLDFAST_STATE: stateOfTests,
      HOLDFAST_TOKEN: "",
      HOLDFAST_KEYRING: "off",
      HOLDFAST_CONFIG: "",
      ...env,
    },
    stdio: "pipe",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.on("error", () => undefined); // a run that does not read it
  child.stdin.end(input ?? "");
  const heard = new Map([child.stdout, child.stderr].map((stream) => [stream, ""]));
  for (const stream of heard.keys())
    stream.on("data", (chunk: Buffer) => heard.set(stream, `${heard.get(stream)}${chunk.toString()}`));
  const closed = once(child, "close");
  const seen = async (pattern: RegExp, stream: Readable): Promise<RegExpExecArray> => {
    for (;;) {
      const found = pattern.exec(heard.get(stream) ?? "");
      if (found !== null) return found;
      if (child.exitCode !== null)
        throw new Error(`It ended without ${String(pattern)}: ${[...heard.values()].join("")}`);
      await Promise.race([once(stream, "data"), closed]);
    }
  };
  const stdout = text(child.stdout).catch(() => ""); // where nobody reads it
  const stderr = text(child.stderr);
  const ended = closed.then(async () => ({
    code: child.exitCode,
    stdout: await stdout,
    stderr: await stderr,
  }));
  return {
    ended,
    told: (pattern) => seen(pattern, child.stderr),
    printed: (pattern) => seen(pattern, child.stdout),
    kill: (signal) => void child.kill(signal),
    stopReading: () => void child.stdout.destroy(),
  };
}
