import { spawn } from "node:child_process";
import { once } from "node:events";
import { ServerProcess } from "./server-process.ts";

const program = new URL("../../../dist/cli.js", import.meta.url);

/** The dashboard of a database, by `holdfast dashboard`: a process of its own, which outlives the killed server. */
export function pageProcess(database: string): ServerProcess {
  return new ServerProcess(program, ["dashboard", database, "--as", "demo"]);
}

/** What opens a link on each system. */
const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [program: string, ...args: string[]]>>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** Opens the browser of the system, if there is one: whoever reads the link can open it too. */
export function openInBrowser(link: string): void {
  const [opener, ...args] = openers[process.platform] ?? ["xdg-open"];
  const child = spawn(opener, [...args, link], { stdio: "ignore", detached: true });
  child.once("error", () => undefined);
  child.unref();
}

/** Resolves with the next key, or with undefined if there will be none. */
export async function nextKey(stdin: NodeJS.ReadStream): Promise<void> {
  stdin.setRawMode(true);
  stdin.resume();
  await Promise.race([once(stdin, "data"), once(stdin, "end")]);
  stdin.setRawMode(false);
  stdin.pause();
}
