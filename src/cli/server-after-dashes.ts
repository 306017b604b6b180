import { join } from "shlex";
import { commandPrefix } from "./server/find-server.ts";

/** Commands whose first word is SERVER; the others take it as an option. */
const serverFirst: ReadonlySet<string | undefined> = new Set(["call", "tools", "doctor"]);

/** What follows `--` is the server's command line, as the user's shell has split it: put where SERVER is expected. */
export function serverAfterDashes(argv: readonly string[]): readonly string[] {
  const at = argv.indexOf("--");
  if (at === -1 || at === argv.length - 1) return argv;
  const server = `${commandPrefix}${join(argv.slice(at + 1))}`;
  const [command = "", ...rest] = argv.slice(0, at);
  return serverFirst.has(command) ? [command, server, ...rest] : [command, ...rest, "--server", server];
}
