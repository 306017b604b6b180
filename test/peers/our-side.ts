import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect, type ConnectOptions, type TaskClient } from "holdfast/client";
import { onTestFinished } from "vitest";
import { folder, type Run } from "../cli/run-cli.ts";
import { runMain } from "../cli/run-main.ts";

/** A server of others: its URL, or how it is started. */
export type Target =
  | string
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
    };

/** A script that Node runs, with these arguments. */
export function script(path: string, args: readonly string[] = [], env = {}): Target {
  return { command: process.execPath, args: [path, ...args], env };
}

/** The file that this command of an installed package is. */
export function programOf(packageName: string, command: string): string {
  const installed = new URL(`./clients/node_modules/${packageName}/`, import.meta.url);
  const manifest = JSON.parse(readFileSync(new URL("package.json", installed), "utf8")) as {
    bin: Readonly<Record<string, string>>;
  };
  return fileURLToPath(new URL(manifest.bin[command] ?? "", installed));
}

/** Our client and our command line, before the same server. */
export class OurSide {
  readonly #target: Target;
  readonly #state: string;

  private constructor(target: Target, state: string) {
    this.#target = target;
    this.#state = state;
  }

  static async of(target: Target): Promise<OurSide> {
    const state = await folder();
    await writeFile(
      join(state, "servers.json"),
      JSON.stringify({ mcpServers: { peer: typeof target === "string" ? { url: target } : target } }),
    );
    return new OurSide(target, state);
  }

  /** Our client; it is closed with the test. */
  async connect(options: ConnectOptions = {}): Promise<TaskClient> {
    const target = this.#target;
    const client = await connect(
      typeof target === "string" ? target : { ...target, args: [...target.args], stderr: "ignore" },
      { pollFloorMs: 1, ...options },
    );
    onTestFinished(async () => client.close());
    return client;
  }

  /** A command about the server: its name comes first. */
  async asks(command: string, ...args: readonly string[]): Promise<Run> {
    return this.runs(command, "peer", ...args);
  }

  /** Any command, with what earlier ones of this user know. */
  async runs(...args: readonly string[]): Promise<Run> {
    const env = {
      HOLDFAST_STATE: join(this.#state, "state"),
      HOLDFAST_CONFIG: join(this.#state, "servers.json"),
    };
    return runMain(args, { env, cwd: this.#state });
  }

  /** What `holdfast doctor` says: the protocol version, the form of tasks, and which of its checks hold. */
  async examined(): Promise<{
    protocolVersion: string;
    tasks: string | null;
    checks: Record<string, unknown>;
  }> {
    const { stdout } = await this.asks("doctor", "--json");
    const found = JSON.parse(stdout) as {
      protocolVersion: string;
      tasks: string | null;
      checks: { check: string; works: boolean | null }[];
    };
    return {
      ...found,
      checks: Object.fromEntries(found.checks.map(({ check, works }) => [check, works])),
    };
  }
}
