import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { fullForm } from "../../full-form.ts";
import { root } from "../../conformance/everything-server.ts";
import { clientOf, until } from "./gateway.ts";

/** Each kills the gateway, and then the server behind it. */
const rounds = fullForm ? 50 : 2;
const jobs = 3;
const lines = (fullForm ? 4 : 12) * rounds;
const program = fileURLToPath(new URL("./gateway-program.ts", import.meta.url));

class Gateway {
  readonly #child: ChildProcess;
  url = "";

  private constructor(folder: string, port: string) {
    const script = `${root}test/everything/main.ts`;
    const args = [program, join(folder, "gateway.db"), port, script, join(folder, "upstream.db")];
    this.#child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"], cwd: root });
    onTestFinished(() => this.end("SIGKILL"));
  }

  static async start(folder: string, port = "0"): Promise<Gateway> {
    const gateway = new Gateway(folder, port);
    const { stdout } = gateway.#child;
    if (stdout === null) throw new Error("no stdout");
    for await (const line of createInterface(stdout)) {
      gateway.url = line;
      break;
    }
    stdout.resume();
    return gateway;
  }

  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    await ended;
  }
}

/** The number and the process of each line that a job has written. */
async function written(path: string): Promise<readonly (readonly [number, number])[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [number, pid] = line.split(" ").map(Number);
    return number === undefined || pid === undefined ? [] : [[number, pid] as const];
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

it(
  `keeps every call through ${rounds} SIGKILLs of the gateway, and as many of its upstream`,
  { timeout: 90_000 + rounds * 30_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-gateway-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    let gateway = await Gateway.start(folder);
    const { port } = new URL(gateway.url);
    const client = await clientOf(gateway);
    const paths = Array.from({ length: jobs }, (_, job) => join(folder, `job-${job}`));
    const results = paths.map((path) =>
      client.callTool("append_lines", { path, count: lines, delayMs: 300 }),
    );
    const onlyOnce = join(folder, "once");
    const failed = client.callTool("not_idempotent", { path: onlyOnce, delayMs: 60_000 }).then(
      ({ isError }) => isError === true,
      () => true,
    );
    const total = async (): Promise<number> => (await Promise.all(paths.map(written))).flat().length;
    const grown = async (): Promise<void> => {
      const before = await total();
      const enough = Math.min(before + jobs, jobs * lines); // on a busy machine all may be written before the next kill
      await vi.waitUntil(async () => (await total()) >= enough, { timeout: 120_000, interval: 100 }); // in full form, beside others
    };
    await until(async () => (await readFile(onlyOnce, "utf8").catch(() => "")) !== "");
    for (let round = 0; round < rounds; round++) {
      await grown();
      await gateway.end("SIGKILL");
      gateway = await Gateway.start(folder, port);
      await grown();
      const pid = (await written(paths[0] ?? "")).at(-1)?.[1];
      if (pid !== undefined && isAlive(pid)) process.kill(pid, "SIGKILL");
    }
    expect(await Promise.all(results)).toMatchObject(
      paths.map(() => ({ content: [{ text: `done ${lines}` }] })),
    );
    expect(await failed).toBe(true);
    expect((await readFile(onlyOnce, "utf8")).trim().split("\n")).toHaveLength(1);
    const pids = new Set<number>();
    for (const path of paths) {
      const all = await written(path);
      for (const [, pid] of all) pids.add(pid);
      const numbers = all.map(([number]) => number);
      // A line whose step was under way at a kill may be there again, and no job ran twice.
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      expect(new Set(numbers).size).toBe(lines);
    }
    expect(pids.size).toBeGreaterThan(1);
    await gateway.end("SIGTERM");
    await until(() => ![...pids].some((pid) => isAlive(pid)));
  },
);

it("goes on with a call on another gateway of the same store", { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-gateways-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const [first, second] = [await Gateway.start(folder), await Gateway.start(folder)];
  const [one, other] = [join(folder, "one"), join(folder, "other")];
  const ann = await clientOf(first, { serverName: "gateway" });
  const ben = await clientOf(second, { serverName: "gateway" });
  const { reference } = await ann.startTool("append_lines", { path: one, count: 12, delayMs: 300 });
  const beside = ben.callTool("append_lines", { path: other, count: 12, delayMs: 300 });
  await until(async () => (await written(one)).length >= 3 && (await written(other)).length >= 3);
  await first.end("SIGKILL");
  expect(await (await ben.resume(reference)).result()).toMatchObject({ content: [{ text: "done 12" }] });
  expect(await beside).toMatchObject({ content: [{ text: "done 12" }] });
  for (const path of [one, other]) {
    const numbers = (await written(path)).map(([number]) => number);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b)); // at most the line of the kill is there twice
    expect(new Set(numbers).size).toBe(12);
    expect(numbers.length).toBeLessThanOrEqual(13);
  }
});
