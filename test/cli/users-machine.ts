import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { folder, type Run } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

/** A server that answers nothing, and keeps the headers of what reached it. */
export async function listener() {
  const seen: IncomingHttpHeaders[] = [];
  const http = createServer(({ headers }, response) => {
    seen.push(headers);
    response.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => void http.close());
  const address = `127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  return { address, url: `http://${address}`, seen };
}

type Entries = Readonly<Record<string, object>>;

/** A user with a home, a configuration of their own, and secrets in the environment; the commands have no terminal. */
export async function usersMachine(own: Entries = {}) {
  const home = await folder();
  const config = async (entries: Entries): Promise<void> => {
    await mkdir(join(home, "config", "holdfast"), { recursive: true });
    await writeFile(join(home, "config", "holdfast", "mcp.json"), JSON.stringify({ mcpServers: entries }));
  };
  await config(own);
  const env = {
    HOME: home,
    XDG_CONFIG_HOME: join(home, "config"),
    HOLDFAST_STATE: join(home, "state"),
    HOLDFAST_TOKEN: "s3cret-token",
    CLOUD_KEY: "s3cret-key",
  };
  const mark = join(home, "ran");
  return {
    home,
    env,
    config,
    /** A folder with that `.mcp.json`. */
    project: async (entries: Entries): Promise<string> => {
      const path = await folder();
      await writeFile(join(path, ".mcp.json"), JSON.stringify({ mcpServers: entries }));
      return path;
    },
    /** A command that leaves a file behind. */
    command: {
      command: process.execPath,
      args: ["-e", `require("fs").writeFileSync(${JSON.stringify(mark)}, "")`],
    },
    hasRun: () => existsSync(mark),
    run: async (
      args: readonly string[],
      cwd = home,
      more: Readonly<Record<string, string>> = {},
    ): Promise<Run> => runMain(args, { cwd, env: { ...env, ...more } }),
  };
}
