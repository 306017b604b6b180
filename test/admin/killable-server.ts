import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { remoteAdmin } from "holdfast/client";
import type { Admin } from "../../src/admin/operations.ts";
import type { Place } from "../cli/admin/some-place.ts";

const script = fileURLToPath(new URL("./bulk-server.ts", import.meta.url));
const token = "a-long-and-random-token";

export interface KillableServer {
  readonly admin: Admin;
  /** Resolves with the next line that it prints. */
  line(): Promise<string>;
  kill(): Promise<void>;
}

/** `bulk-server.ts` on the place, in a process of its own. */
export async function started(
  { url }: Place,
  payments: string,
  ...stall: readonly string[]
): Promise<KillableServer> {
  const child: ChildProcess = spawn(process.execPath, [script, url, payments, token, ...stall], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit");
  if (child.stdout === null) throw new Error("The server has no output.");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error("The server has ended.");
    return String(value);
  };
  return {
    admin: remoteAdmin(await line(), { token }),
    line,
    kill: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
