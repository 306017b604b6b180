// npm run demo:agent: an agent starts three slow tools on two servers, is killed, comes back, asks its user, and ends.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";

const folder = await mkdtemp(join(tmpdir(), "holdfast-agent-"));
const children = new Set<ChildProcess>();

/** Starts a program beside this file, in the folder of the demo. */
function start(program: string, env: Record<string, string> = {}) {
  const script = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, [script], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.add(child);
  const exited = once(child, "exit").then(() => children.delete(child));
  return { child, exited, lines: createInterface({ input: child.stdout }) };
}

async function firstLine(lines: Interface): Promise<string> {
  for await (const line of lines) return line;
  throw new Error("The program has ended before it said anything.");
}

function show(text: string): void {
  console.log(`\n${text}`);
}

try {
  show("Two MCP servers start: one builds, one sells.");
  const servers = start("servers.ts");
  const SERVERS = await firstLine(servers.lines);

  show(
    "The agent starts. Its model calls three tools, and has its answers at once: they run in the background.",
  );
  const first = start("agent.ts", { SERVERS });
  console.log(`  ${await firstLine(first.lines)}`);
  first.child.kill("SIGKILL");
  await first.exited;

  show(
    "SIGKILL: the agent is gone. Its tools work on. It comes back, and finds each result in its inbox, once.",
  );
  const second = start("agent.ts", { SERVERS });
  second.child.stdout.on("data", (chunk: Buffer) => {
    process.stdout.write(chunk.toString().replaceAll(/^(?=.)/gm, "  "));
    if (!chunk.toString().includes("[y/n]")) return;
    process.stdout.write("y\n"); // the demo answers for its user
    second.child.stdin.write("y\n");
  });
  await second.exited;
  process.exitCode = second.child.exitCode ?? 1;
} finally {
  const exits = [...children].map(async (child) => once(child, "exit"));
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(exits);
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
