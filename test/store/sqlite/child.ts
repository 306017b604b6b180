import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Child {
  readonly pid: number;
  /** Gives it a line of input. */
  send(line: string): void;
  /** The next line that it prints; rejects, with its error output, where it ended without one. */
  line(): Promise<string>;
  /** All lines from here to its end. */
  rest(): Promise<string[]>;
  /** Asks it to end in order, by the end of its input, and waits until it has. */
  end(): Promise<void>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** Runs a program as a process of its own; `wrap` can put a command in front of Node's. */
export function runChild(
  program: URL,
  args: readonly string[],
  wrap = (command: readonly string[]) => command,
): Child {
  const [command = process.execPath, ...rest] = wrap([process.execPath, fileURLToPath(program), ...args]);
  const child = spawn(command, rest, { stdio: ["pipe", "pipe", "pipe"] });
  const exited = once(child, "exit");
  let problems = "";
  child.stderr.on("data", (data) => (problems += String(data)));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    pid: child.pid ?? 0,
    send: (line) => void child.stdin.write(`${line}\n`),
    line: async () => {
      const next = await lines.next();
      if (next.done === true) throw new Error(`The child ended: ${problems}`);
      return next.value;
    },
    rest: async () => {
      const all: string[] = [];
      for (let next = await lines.next(); next.done !== true; next = await lines.next()) all.push(next.value);
      return all;
    },
    end: async () => {
      child.stdin.end();
      await exited;
    },
    kill: async (signal) => {
      child.kill(signal);
      await exited;
    },
  };
}
