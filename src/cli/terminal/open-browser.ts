import { spawn } from "node:child_process";
import { systemProgram } from "../../client/transport/process-group.ts";
import type { Io } from "../io.ts";

/** Opens a page in the user's browser. Resolves with whether there seems to be one: nothing says whether it has opened. */
export async function openBrowser(url: URL, env: Io["env"], platform = process.platform): Promise<boolean> {
  const command = browserCommand(env, platform);
  if (command === undefined) return false;
  const [program = "", ...args] = command;
  const browser = spawn(program, [...args, url.href], { stdio: "ignore", detached: true });
  return new Promise((resolve) => {
    browser.once("error", () => resolve(false));
    browser.once("spawn", () => {
      browser.unref();
      resolve(true);
    });
  });
}

/** What opens pages here, as the user has it in `BROWSER` or as his system does; undefined for nothing. */
export function browserCommand(env: Io["env"], platform: NodeJS.Platform): readonly string[] | undefined {
  const own = env["BROWSER"];
  if (own !== undefined && own !== "") return [own];
  // Its windows would be on the other machine, and so would the port that the browser comes back to.
  if (env["SSH_CONNECTION"] !== undefined || env["SSH_TTY"] !== undefined) return undefined;
  if (platform === "darwin") return ["open"];
  // Not by `cmd`, which takes `&` in an address for its own.
  if (platform === "win32") return [systemProgram("rundll32.exe", env), "url.dll,FileProtocolHandler"];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open"] : undefined;
}
