import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it, onTestFinished } from "vitest";
import { connectHttp, haiku, resultText, start, streamed } from "./client.ts";
import { newFolder } from "./stores.ts";

const hooks = fileURLToPath(new URL("./make-durable.ts", import.meta.url));
const sdk = dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/sdk/types.js"));

type Example = "simpleStreamableHttp" | "simpleTaskInteractive";

/** An example server of the SDK as it is published, but for the module that keeps its tasks. */
async function serve(example: Example, database: string): Promise<[url: URL, kill: () => Promise<void>]> {
  const script = join(sdk.replace(/\bcjs$/, "esm"), "examples", "server", `${example}.js`);
  const env = { ...process.env, PORT: "0", MCP_PORT: "0", TASKS_DATABASE: database };
  const child = spawn(process.execPath, ["--import", hooks, script], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  onTestFinished(kill);
  for await (const line of createInterface({ input: child.stdout })) {
    const [, port] = /^port (\d+)\.$/.exec(line) ?? [];
    if (port === undefined) continue;
    child.stdout.resume();
    return [new URL(`http://127.0.0.1:${port}/mcp`), kill];
  }
  throw new Error(`${example} did not listen`);
}

it("simpleStreamableHttp keeps its tasks through a kill", { timeout: 60_000 }, async () => {
  const database = join(await newFolder(), "tasks.db");
  const [url, kill] = await serve("simpleStreamableHttp", database);
  const client = await connectHttp(url);
  const quick = await start(client, "delay", { duration: 10 });
  const slow = await start(client, "delay", { duration: 600_000 });
  const collected = await start(client, "collect-user-info-task", { infoType: "contact" });
  const texts = [await resultText(client, quick.taskId), await resultText(client, collected.taskId)];
  expect(texts[0]).toBe("Completed 10ms delay");
  expect(texts[1]).toContain("Collected contact info");
  await kill();

  const [again] = await serve("simpleStreamableHttp", database);
  const next = await connectHttp(again);
  const { tasks } = next.experimental;
  expect([await resultText(next, quick.taskId), await resultText(next, collected.taskId)]).toEqual(texts);
  expect(await tasks.getTask(slow.taskId)).toMatchObject({
    status: "failed",
    statusMessage: expect.stringContaining("The server stopped") as string,
  });
  await expect(tasks.getTaskResult(slow.taskId, CallToolResultSchema)).rejects.toThrow("The server stopped");
  expect((await tasks.listTasks()).tasks).toHaveLength(3);
});

it("simpleTaskInteractive asks its client, and keeps the end", { timeout: 60_000 }, async () => {
  const database = join(await newFolder(), "tasks.db");
  const [url, kill] = await serve("simpleTaskInteractive", database);
  const client = await connectHttp(url);
  expect((await streamed(client, "confirm_delete", { filename: "a.txt" }))[1]).toBe("Deleted 'a.txt'");
  const { taskId } = await start(client, "write_haiku", { topic: "autumn" });
  expect(await resultText(client, taskId)).toBe(`Haiku:\n${haiku}`);
  await kill();

  const [again] = await serve("simpleTaskInteractive", database);
  expect(await resultText(await connectHttp(again), taskId)).toBe(`Haiku:\n${haiku}`);
});
