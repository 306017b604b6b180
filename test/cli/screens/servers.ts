import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { protectedBy } from "../../client/auth/protected.ts";
import { compileCache } from "../../compile-cache.ts";
import { script as everythingScript, startHttp, startOnPort } from "../../interop/our-client-everything.ts";
import { folder } from "../run-cli.ts";

export type Transport = "http" | "stdio";

/** A server as a person reaches it. */
export interface Place {
  /** Its URL, or its name in the config file. */
  readonly server: string;
  /** What the config file has. */
  readonly servers?: Readonly<Record<string, object>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** A server that the config file names and each command starts. */
export function named(server: string, args: readonly string[], env = {}): Place {
  const entry = { command: process.execPath, args, env: { ...compileCache, ...env } };
  return { server, servers: { [server]: entry } };
}

const reports = fileURLToPath(new URL("./reports-server.ts", import.meta.url));

/** A server of ours, which keeps its tasks on disk. */
export async function ours(transport: Transport): Promise<Place> {
  const env = { REPORTS_DB: join(await folder(), "tasks.db") };
  if (transport === "stdio") return named("reports", [reports, "stdio"], env);
  const child = spawn(process.execPath, [reports, "http"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    const ended = once(child, "exit");
    if (child.kill("SIGKILL")) await ended;
  });
  const [url] = (await once(createInterface(child.stdout), "line")) as [string];
  return { server: url };
}

/** The server that the protocol's makers publish, with tasks in memory. */
export async function everything(transport: Transport): Promise<Place> {
  return transport === "stdio"
    ? named("everything", [everythingScript, "stdio"])
    : { server: await startHttp() };
}

/** Examples of the SDK: over HTTP one with tasks, over stdio one with structured output. */
export async function sdkExample(transport: Transport): Promise<Place> {
  const script = (name: string): string =>
    fileURLToPath(import.meta.resolve(`@modelcontextprotocol/sdk/examples/server/${name}.js`));
  return transport === "stdio"
    ? named("weather", [script("mcpServerOutputSchema")])
    : { server: await startOnPort([script("simpleStreamableHttp")], "MCP_PORT") };
}

/** A server that wants a login, with a browser whose user does what the page says. */
export async function protectedServer(): Promise<Place> {
  const { url } = await protectedBy();
  const browser = join(await folder(), "browser");
  const visit = "fetch(process.argv[1]).then((page) => page.text())";
  await writeFile(browser, `#!/bin/sh\nexec '${process.execPath}' -e '${visit}' "$1"\n`);
  await chmod(browser, 0o755);
  return { server: url, env: { BROWSER: browser } };
}

/** One that ends at once, and says why. */
export async function failing(): Promise<Place> {
  return named("reports", ["-e", 'console.error("reports: there is no database"); process.exitCode = 1']);
}
