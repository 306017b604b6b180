import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const program = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

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
    env: { ...process.env, HOLDFAST_TOKEN: "", HOLDFAST_CONFIG: "", ...env },
    stdio: "pipe",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.on("error", () => undefined); // a run that does not read it
  child.stdin.end(input ?? "");
  let told = "";
  child.stderr.on("data", (chunk: Buffer) => (told += chunk.toString()));
  const closed = once(child, "close");
  const stdout = text(child.stdout).catch(() => ""); // where nobody reads it
  const stderr = text(child.stderr);
  const ended = closed.then(async () => ({
    code: child.exitCode,
    stdout: await stdout,
    stderr: await stderr,
  }));
  return {
    ended,
    async told(pattern) {
      for (;;) {
        const found = pattern.exec(told);
        if (found !== null) return found;
        if (child.exitCode !== null) throw new Error(`It ended without ${String(pattern)}: ${told}`);
        await Promise.race([once(child.stderr, "data"), closed]);
      }
    },
    kill: (signal) => void child.kill(signal),
    stopReading: () => void child.stdout.destroy(),
  };
}
