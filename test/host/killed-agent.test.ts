import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { folder } from "../cli/run-cli.ts";
import { seededRandom } from "../crash/random.ts";
import { fullForm } from "../full-form.ts";
import { agents, callsOf, resultsIn, type Framework } from "./scripted-agents.ts";

const program = fileURLToPath(new URL("./agent-program.ts", import.meta.url));
const kills = fullForm ? 50 : 3;
const count = fullForm ? 21 : 12;
const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9));
const inputSchema = z.object({ input: z.string() });
const done = (input: string) => ({ content: [{ type: "text" as const, text: `done: ${input}.` }] });

async function serve(add: (tasks: Tasks) => void, plain?: (server: McpServer) => void) {
  const tasks = createTasks({ store: memoryStore(), pollIntervalMs: 50 });
  add(tasks);
  const factory = () => {
    const server = new McpServer({ name: "server", version: "1.0.0" });
    plain?.(server);
    return server;
  };
  const http = await serveHttp(tasks.server(factory), { port: 0, anonymous: "shared" });
  onTestFinished(async () => http.close());
  return { url: http.url, tasks };
}

const frameworks = Object.keys(agents) as Framework[];

test.each(frameworks)(
  `%s: an agent that is killed has each result once, and its calls had one effect each (seed ${seed})`,
  async (framework) => {
    const random = seededRandom(seed);
    /** How often each call had its effect. */
    const effects = new Map<string, number>();
    const effect = (input: string): void => void effects.set(input, (effects.get(input) ?? 0) + 1);
    const slow = await serve((tasks) =>
      tasks.tool("work", { inputSchema }, async ({ input }, task) => {
        await task.sleep("wait", 200);
        await task.step("effect", () => effect(input));
        return done(input);
      }),
    );
    const asking = await serve((tasks) =>
      tasks.tool("confirm", { inputSchema }, async ({ input }, task) => {
        const answer = await task.elicit("sure", {
          message: `Do ${input}?`,
          requestedSchema: { type: "object", properties: { yes: { type: "boolean" } } },
        });
        await task.step("effect", () => effect(input));
        return answer.action === "accept" ? done(input) : { content: [], isError: true };
      }),
    );
    const annotations = { readOnlyHint: true };
    const plain = await serve(
      () => undefined,
      (server) => server.registerTool("look", { inputSchema, annotations }, async ({ input }) => done(input)),
    );
    const servers = { slow: slow.url, asking: asking.url, plain: plain.url };
    const home = await folder();
    const args = [program, framework, home, JSON.stringify(servers), String(count)];
    const start = () => spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    for (let kill = 0; kill < kills; kill++) {
      const child = start();
      const exited = once(child, "exit");
      await Promise.race([once(child.stdout, "data"), exited]);
      await Promise.race([pause(random() * 500), exited]);
      child.kill("SIGKILL");
      await exited;
    }
    expect(await once(start(), "exit")).toEqual([0, null]);

    const history = JSON.parse(await readFile(join(home, "history.json"), "utf8")) as unknown[];
    const calls = callsOf(count);
    expect(resultsIn(framework, history, calls)).toEqual(calls.map(() => 1));
    const effective = calls.filter(({ tool }) => tool !== "plain__look");
    expect(effects).toEqual(new Map(effective.map(({ args: { input } }) => [input, 1])));
    for (const { tasks } of [slow, asking]) {
      const open = await tasks.admin.list({ states: ["queued", "running", "waiting", "input_required"] });
      expect(open.tasks).toEqual([]);
    }
    // One turn that calls, and one that reads what has started; a turn that was cut off begins anew. None asks whether a call has ended.
    const turns = (await readFile(join(home, "turns.log"), "utf8")).trim().split("\n").length;
    expect(turns).toBeLessThanOrEqual(2 * (kills + 1));
  },
);
