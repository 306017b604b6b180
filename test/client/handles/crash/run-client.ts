import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("client-process.ts", import.meta.url));

export interface ClientRun {
  readonly url: string;
  readonly folder: string;
  /** Where it dies; left out, nowhere. */
  readonly point?: string | undefined;
  /** Left out, it calls nothing and only takes up what is there. */
  readonly month?: string | undefined;
  /** Left out, the newest that both speak. */
  readonly version?: string;
  /** Kills it from outside. */
  readonly killed?: Promise<void>;
}

/** Runs a client to its end, whichever that is, and gives what it said, line by line. */
export async function runClient({
  url,
  folder,
  point = "",
  month,
  version = "",
  killed,
}: ClientRun): Promise<{
  readonly lines: readonly string[];
  readonly signal: string | null;
}> {
  const args = [program, url, folder, point, version, ...(month === undefined ? [] : [month])];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit") as Promise<[code: number | null, signal: string | null]>;
  void killed?.then(() => child.kill("SIGKILL"));
  const said = await text(child.stdout);
  const [code, signal] = await exited;
  if (code !== null && code !== 0) throw new Error(`The client ended with code ${code}: ${said}`);
  return { lines: said.split("\n").filter((line) => line !== ""), signal };
}
