import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A server in a process of its own, which prints its URL once it serves and ends on SIGTERM. */
export class ServerProcess {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #kill: () => void;

  private constructor(url: string, child: ChildProcess, kill: () => void) {
    this.url = url;
    this.#child = child;
    this.#kill = kill;
  }

  /** Starts a script, named from this folder; its databases are made in `folder`. */
  static async start(
    script: string,
    folder: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<ServerProcess> {
    const child = spawn(process.execPath, [fileURLToPath(new URL(script, import.meta.url))], {
      cwd: folder,
      env: { ...process.env, PORT: "0", ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    // A bench that is stopped halfway leaves no servers behind.
    const kill = (): void => void child.kill("SIGKILL");
    process.prependOnceListener("exit", kill);
    const exited = once(child, "exit").then(() => Promise.reject(new Error(`${script} did not start.`)));
    const [line] = (await Promise.race([once(child.stdout, "data"), exited])) as [Buffer];
    exited.catch(() => undefined);
    return new ServerProcess(line.toString().trim(), child, kill);
  }

  /** Processor time of all its threads so far, in steps of 10 ms; undefined where the system does not show it in /proc. */
  cpuMs(): number | undefined {
    try {
      const stat = readFileSync(`/proc/${this.#child.pid}/stat`, "latin1");
      // The name of the program may contain spaces, so count from its closing parenthesis.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return (Number(fields[11]) + Number(fields[12])) * 10;
    } catch {
      return undefined;
    }
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await exited;
    process.off("exit", this.#kill);
  }
}
