import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const script = fileURLToPath(new URL("./server-process.ts", import.meta.url));

/** The server of this folder over HTTP, in a process of its own; gives its URL once it listens. */
export async function serveProcess(
  database: string,
  onRestart: "fail" | "keep",
): Promise<[URL, kill: () => Promise<void>]> {
  const child: ChildProcess = spawn(process.execPath, [script, database, onRestart], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  onTestFinished(kill);
  const [line] = (await once(child.stdout ?? child, "data")) as [Buffer];
  return [new URL(line.toString().trim()), kill];
}
