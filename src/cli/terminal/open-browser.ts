import { spawn } from "node:child_process";
import { systemProgram } from "../../client/transport/process-group.ts";
import type { Io } from "../io.ts";
import { typedEnvironment } from "../server/child-environment.ts";

/** Opens a page in the user's browser. Resolves with whether there seems to be a browser; whether it has opened is unknown. */
export async function openBrowser(url: URL, env: Io["env"], platform = process.platform): Promise<boolean> {
  const command = browserCommand(env, platform);
  if (command === undefined) return false;
  const [program = "", ...args] = command;
  const browser = spawn(program, [...args, url.href], {
    stdio: "ignore",
    detached: true,
    env: typedEnvironment(env).env,
  });
  return new Promise((resolve) => {
    browser.once("error", () => resolve(false));
    browser.once("spawn", () => {
      browser.unref();
      resolve(true);
    });
  });
}

/** The program that opens pages: that of `BROWSER` or of the system; undefined if there is none. */
export function browserCommand(env: Io["env"], platform: NodeJS.Platform): readonly string[] | undefined {
  const own = env["BROWSER"];
  if (own !== undefined && own !== "") return [own];
  // The browser would run on the other machine, where the redirect to this machine's port fails.
  if (env["SSH_CONNECTION"] !== undefined || env["SSH_TTY"] !== undefined) return undefined;
  if (platform === "darwin") return ["open"];
  // Not `cmd`, which interprets `&` in an address.
  if (platform === "win32") return [systemProgram("rundll32.exe", env), "url.dll,FileProtocolHandler"];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open"] : undefined;
}
