import { once } from "node:events";
import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connect } from "holdfast/client";
import { expect, onTestFinished, test } from "vitest";
import { folder } from "../cli/run-cli.ts";
import { seededRandom } from "../crash/random.ts";
import { fullForm } from "../full-form.ts";
import { agents, callsOf, resultsIn, type Framework } from "./scripted-agents.ts";

const agentProgram = fileURLToPath(new URL("./agent-program.ts", import.meta.url));
const serversProgram = fileURLToPath(new URL("./servers-program.ts", import.meta.url));
const kills = fullForm ? 50 : 3;
const count = fullForm ? 21 : 12;
const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9));

/** A program that is killed and started again, and ended with its test. */
class Program {
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  constructor(args: readonly string[]) {
    this.#args = args;
    onTestFinished(async () => this.kill());
  }

  /** Resolves once it says that it is ready, or has ended. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, this.#args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#child = child;
    await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  }

  async ended(): Promise<unknown> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode;
    await once(child, "exit");
    return child.exitCode;
  }

  async kill(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.ended();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

test.each(Object.keys(agents) as Framework[])(
  `%s: an agent has each result once, and its calls had one effect each, whichever process is killed (seed ${seed})`,
  async (framework) => {
    const random = seededRandom(seed);
    const home = await folder();
    const ports = [await freePort(), await freePort(), await freePort()] as const;
    const url = (port: number): string => `http://127.0.0.1:${port}/mcp`;
    const addresses = { slow: url(ports[0]), asking: url(ports[1]), plain: url(ports[2]) };
    const servers = new Program([serversProgram, home, ...ports.map(String)]);
    const agent = new Program([agentProgram, framework, home, JSON.stringify(addresses), String(count)]);
    await servers.start();
    for (let kill = 0; kill < kills; kill++) {
      await agent.start();
      await pause(random() * 500);
      if (kill % 2 === 1) {
        await servers.kill();
        await servers.start();
        await pause(random() * 200);
      }
      await agent.kill();
    }
    await agent.start();
    expect(await agent.ended()).toBe(0);

    const history = JSON.parse(await readFile(join(home, "history.json"), "utf8")) as unknown[];
    const calls = callsOf(count);
    expect(resultsIn(framework, history, calls)).toEqual(calls.map(() => 1));
    // A step that was interrupted runs again under the same key.
    const effects = new Set((await readFile(join(home, "effects.log"), "utf8")).trim().split("\n"));
    const effective = calls.filter(({ tool }) => tool !== "plain__look");
    const times = new Map<string, number>();
    for (const [input = ""] of [...effects].map((line) => line.split("\t")))
      times.set(input, (times.get(input) ?? 0) + 1);
    expect(times).toEqual(new Map(effective.map(({ args: { input } }) => [input, 1])));
    // Nothing runs at the servers that nobody knows of.
    for (const address of [addresses.slow, addresses.asking]) {
      const client = await connect(address, { protocolVersion: "2025-11-25" });
      const { tasks } = await client.listTasks();
      await client.close();
      expect(tasks.filter(({ status }) => status === "working" || status === "input_required")).toEqual([]);
    }
    // One turn that calls, and one that reads what has started; a turn that was cut off begins anew. None asks whether a call has ended.
    const turns = (await readFile(join(home, "turns.log"), "utf8")).trim().split("\n").length;
    expect(turns).toBeLessThanOrEqual(2 * (kills + 1));
  },
);
