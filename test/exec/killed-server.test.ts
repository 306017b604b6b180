import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished, vi } from "vitest";
import { seededRandom } from "../crash/random.ts";
import { fullForm } from "../full-form.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

const script = fileURLToPath(new URL("./server.ts", import.meta.url));
const kills = Number(process.env["CRASH_KILLS"] ?? (fullForm ? 100 : 8));
const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9));
const lines = 60;

/** A program that was started, and what it was told to do. */
interface Started {
  readonly id: string;
  readonly name: string;
  readonly code: number;
  readonly onCrash: "adopt" | "restart";
}

class KilledServer {
  readonly folder: string;
  readonly url: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.folder = folder;
    this.url = `http://127.0.0.1:${port}/mcp`;
    this.#args = [script, String(port), join(folder, "tasks.db"), folder];
  }

  static async start(): Promise<KilledServer> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-exec-"));
    const server = new KilledServer(folder, await freePort());
    onTestFinished(async () => {
      await server.end("SIGKILL");
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    await server.serve();
    return server;
  }

  async serve(): Promise<void> {
    const child = spawn(process.execPath, this.#args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#child = child;
    await once(child.stdout, "data");
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill(signal);
    await exited;
  }

  /** The folders of processes that were begun. One whose server died before has only its beginning, and is removed later. */
  async kept(): Promise<string[]> {
    const folders = await readdir(join(this.folder, "exec"));
    return folders.filter((name) => existsSync(join(this.folder, "exec", name, "process.json")));
  }

  /** The numbers, or whatever a program has noted in the file of that ending, one a line. */
  async noted(name: string, what: "begun" | "overlap" | "children"): Promise<string[]> {
    const text = await readFile(join(this.folder, `${name}.${what}`), "utf8").catch(() => "");
    return text.split("\n").filter((line) => line !== "");
  }
}

/**
 * Programs that print lines, while their server is killed or stops again and again:
 * - each ends with its own exit code, and its whole output, of which the log has each line once;
 * - of one step, no two run at the same time, and one that is adopted begins once;
 * - at the end nothing runs any more that they have begun, and none of their files is left.
 */
it(
  `no program is lost, doubled or left behind through ${kills} kills (CRASH_SEED=${seed})`,
  {
    timeout: 180_000 + kills * 10_000,
  },
  async () => {
    const random = seededRandom(seed);
    const server = await KilledServer.start();
    const peer = new StatelessClient(server.url);
    const started: Started[] = [];
    for (let kill = 0; kill < kills; kill++) {
      for (const onCrash of ["adopt", "restart"] as const) {
        const name = `${onCrash}-${kill}`;
        const code = Math.floor(random() * 100);
        const { result, error } = await peer.call("run", { name, lines, code, onCrash });
        expect(error).toBeUndefined();
        started.push({ id: String(result?.["taskId"]), name, code, onCrash });
      }
      await pause(random() * 1_500);
      await server.end(random() < 0.8 ? "SIGKILL" : "SIGTERM");
      if (random() < 0.3) await pause(random() * 2_000);
      await server.serve();
    }
    const stdout = Array.from({ length: lines }, (_, n) => `line ${n + 1}`);
    const stderr = Array.from({ length: lines }, (_, n) => `error ${n + 1}`);
    for (const { id, name, code, onCrash } of started) {
      await vi.waitUntil(async () => (await peer.get(id))["status"] !== "working", {
        timeout: 120_000,
        interval: 200,
      });
      expect(await peer.get(id)).toMatchObject({ status: "completed" });
      const { result } = (await peer.get(id)) as { result: { content: [{ text: string }] } };
      const begun = await server.noted(name, "begun");
      const noted = [...begun, ...(await server.noted(name, "children"))];
      const living = (await Promise.all(noted.map(programOf))).filter((program) =>
        /program\.sh|sleep 1000/.test(program),
      );
      const overlaps = await server.noted(name, "overlap");
      const printed = JSON.parse(result.content[0].text) as object;
      const logged = (await logOf(peer, id)).toSorted();
      expect({ name, overlaps, living, logged, ...printed }).toEqual({
        name,
        overlaps: [],
        living: [],
        logged: [...stdout, ...stderr].toSorted(),
        exitCode: code,
        stdout: `${stdout.join("\n")}\n`,
      });
      if (onCrash === "adopt") expect({ name, begun }).toEqual({ name, begun: [expect.any(String)] });
    }
    await vi.waitUntil(async () => (await server.kept()).length === 0, { timeout: 120_000, interval: 200 });
    await server.end("SIGTERM");
  },
);

/** Of one that has no more than a page of them. */
async function logOf(peer: StatelessClient, id: string): Promise<string[]> {
  const uri = `task://${id}/log?after=0`;
  const read = await peer.result("resources/read", { uri }, { headers: { "Mcp-Name": uri } });
  const [{ text }] = (read as { contents: [{ text: string }] }).contents;
  return text
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { text: string }).text);
}

/** What runs as the process of that number, which may be another one by now. */
async function programOf(pid: string): Promise<string> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "args=", "-p", pid]).catch(() => ({
    stdout: "",
  }));
  return stdout.trim();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
