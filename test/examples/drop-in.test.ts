import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect, type TaskClient } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { example, newFolder } from "../docs/example-process.ts";

interface Running {
  readonly process: ChildProcess;
  readonly url: string;
  readonly client: TaskClient;
}

/** Starts an example in the folder, and connects to it. */
async function start(name: string, cwd: string, renderMs: number): Promise<Running> {
  const env = { ...process.env, PORT: "0", RENDER_MS: String(renderMs) };
  const server = spawn(process.execPath, [example(name)], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void server.kill("SIGKILL"));
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const url = line.toString().trim();
  const client = await connect(url);
  onTestFinished(() => client.close());
  return { process: server, url, client };
}

const lines = async (file: string): Promise<string[]> =>
  (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");

it("differs by one line of a tool", async () => {
  const [before, now] = await Promise.all(
    ["drop-in/reports-before.ts", "drop-in/reports.ts"].map((name) => lines(example(name))),
  );
  const code = (file: string[] = []): string[] => file.filter((line) => !line.startsWith("//"));
  expect(code(now).filter((line) => !code(before).includes(line))).toEqual(['      task: "optional",']);
  expect(code(now)).toHaveLength(code(before).length + 1);
});

it("answers as the server before, and goes on after a crash", async () => {
  const folder = await newFolder();
  const call = { name: "report", args: { month: "2026-10" } };
  const before = await start("drop-in/before.ts", folder, 0);
  const expected = (await before.client.callTool(call.name, call.args)).content;
  const first = await start("drop-in/server.ts", folder, 0);
  expect((await first.client.callTool(call.name, call.args)).content).toEqual(expected);
  first.process.kill();
  await once(first.process, "exit");

  const crashing = await start("drop-in/server.ts", folder, 600_000);
  const { reference } = await crashing.client.startTool(call.name, { month: "2026-11" });
  await expect.poll(() => lines(join(folder, "renderings.txt")), { timeout: 30_000 }).toContain("2026-11");
  crashing.process.kill("SIGKILL");
  await once(crashing.process, "exit");

  const next = await start("drop-in/server.ts", folder, 0);
  if (reference === null) throw new Error("The call has become no task.");
  const handle = await next.client.resume({ ...reference, server: next.url }); // on another port
  expect((await handle.result()).content).toEqual([{ type: "text", text: "https://example.com/2026-11" }]);
}, 60_000);
