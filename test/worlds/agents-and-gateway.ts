import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connect } from "holdfast/client";
import { expect } from "vitest";
import { program as cli } from "../cli/run-cli.ts";
import { agents, callsOf, resultsIn, type Framework } from "../host/scripted-agents.ts";
import { freePort } from "../postgres/free-port.ts";
import { Program } from "./program.ts";

const pathOf = (url: string): string => fileURLToPath(new URL(url, import.meta.url));

export interface AgentsAndGateway {
  readonly folder: string;
  readonly random: () => number;
  /** How many times one of the three kinds of programs is killed or stopped. */
  readonly blows: number;
  /** Calls of the agent, and calls through the gateway. */
  readonly calls: number;
}

const sorted = (texts: readonly string[]): string[] => texts.toSorted((a, b) => a.localeCompare(b));

/**
 * An agent and a client of `holdfast serve` call tools of the same servers, and all of them are killed and stopped. Then each call has its
 * result, and had its effect once. Returns how many calls there were.
 */
export async function expectEffectsOnce({
  folder,
  random,
  blows,
  calls,
}: AgentsAndGateway): Promise<{ readonly calls: number; readonly blows: number }> {
  await mkdir(folder);
  const ports = [await freePort(), await freePort(), await freePort()];
  const [slow = "", asking = "", plain = ""] = ports.map((port) => `http://127.0.0.1:${port}/mcp`);
  const gatewayPort = await freePort();
  const file = join(folder, "tools.json");
  const mcp = { slow: { url: slow, prefix: "slow_" }, asking: { url: asking, prefix: "asking_" } };
  await writeFile(file, JSON.stringify({ store: `sqlite:${join(folder, "gateway.db")}`, mcp }));

  const stderr = join(folder, "stderr");
  await using servers = new Program(
    [pathOf("../host/servers-program.ts"), folder, ...ports.map(String)],
    stderr,
  );
  await using gateway = new Program([cli, "serve", file, "--port", String(gatewayPort)], stderr);
  const frameworks = Object.keys(agents) as Framework[];
  const framework = frameworks[Math.floor(random() * frameworks.length)] ?? "AI SDK";
  await using agent = new Program(
    [
      pathOf("../host/agent-program.ts"),
      framework,
      folder,
      JSON.stringify({ slow, asking, plain }),
      String(calls),
    ],
    stderr,
  );
  await servers.start();
  await Promise.all([gateway.start(), agent.start()]);

  await using ending = new AsyncDisposableStack();
  const client = await connect(`http://127.0.0.1:${gatewayPort}/mcp`, {
    onInput: async () => ({ action: "accept", content: { yes: true } }),
  });
  ending.defer(() => client.close());
  const inputs = Array.from({ length: calls }, (_, n) => `through the gateway ${n}`);
  const tools = ["slow_work", "asking_confirm"] as const;
  const results = Promise.all(
    inputs.map((input, n) => client.callTool(tools[n % tools.length] ?? tools[0], { input })),
  );
  results.catch(() => undefined); // it is awaited at the end
  const programs = [servers, gateway, agent];
  for (let blow = 0; blow < blows; blow++) {
    await pause(random() * 1_500);
    const victim = programs[Math.floor(random() * programs.length)] ?? servers;
    if (random() < 0.3) await victim.stop(pause(random() * 2_000));
    else {
      await victim.kill();
      await pause(random() * 300);
      await victim.start();
    }
  }

  expect((await results).map(({ content }) => content)).toEqual(
    inputs.map((input) => [{ type: "text", text: `done: ${input}.` }]),
  );
  if ((await agent.ended()) !== 0) throw new Error(`The agent failed: ${await readFile(stderr, "utf8")}`);
  const history = JSON.parse(await readFile(join(folder, "history.json"), "utf8")) as unknown[];
  const asked = callsOf(calls);
  expect(resultsIn(framework, history, asked)).toEqual(asked.map(() => 1));
  // A step that was interrupted runs again under the same key.
  const effects = new Set((await readFile(join(folder, "effects.log"), "utf8")).trim().split("\n"));
  const effective = asked.filter(({ tool }) => tool !== "plain__look").map(({ args }) => args.input);
  const inputOf = (line: string): string => line.split("	")[0] ?? "";
  expect(sorted([...effects].map(inputOf))).toEqual(sorted([...effective, ...inputs]));
  // Nothing runs at the servers that nobody knows of.
  for (const url of [slow, asking]) {
    const other = await connect(url, { protocolVersion: "2025-11-25" });
    const { tasks } = await other.listTasks();
    await other.close();
    expect(tasks.filter(({ status }) => status === "working" || status === "input_required")).toEqual([]);
  }
  return { calls: calls + inputs.length, blows: programs.reduce((sum, each) => sum + each.blows, 0) };
}
