import { homedir } from "node:os";
import { posix, win32 } from "node:path";

/** A command's access to the world; the entry point provides it. */
export interface Io {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working directory, against which relative paths are resolved. */
  readonly cwd: string;
  /** The file of this program, for processes that it starts. */
  readonly program?: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The root of the package that runs, which has templates, examples and documentation. */
export const packageRoot = new URL(import.meta.url.endsWith(".ts") ? "../../" : "../", import.meta.url);

/** The folder of this user's unfinished tasks: `HOLDFAST_STATE`, or `holdfast` in the system's folder for program state. */
export function stateFolder({ env, cwd }: Pick<Io, "env" | "cwd">, platform = process.platform): string {
  const asked = env["HOLDFAST_STATE"];
  if (asked !== undefined && asked !== "") return pathsOf(platform).resolve(cwd, asked);
  // Local: a roaming profile would copy the logins to other machines.
  return userFolder(
    env,
    platform,
    ["XDG_STATE_HOME", ".local", "state"],
    ["LOCALAPPDATA", "AppData", "Local"],
  );
}

/** The folder of this user's configuration for the command line. */
export function configFolder({ env }: Pick<Io, "env">, platform = process.platform): string {
  return userFolder(env, platform, ["XDG_CONFIG_HOME", ".config"], ["APPDATA", "AppData", "Roaming"]);
}

/** A variable that names a folder, and its default below the home folder. */
type Usual = readonly [variable: string, ...below: string[]];

/**
 * An XDG variable that is set counts on Windows too. A relative one does not count, as its specification says: it would
 * name another folder in each working directory.
 */
function userFolder(env: Io["env"], platform: NodeJS.Platform, xdg: Usual, windows: Usual): string {
  const paths = pathsOf(platform);
  const [variable, ...below] = platform === "win32" ? windows : xdg;
  const given = [env[xdg[0]], env[variable]].find((path) => path !== undefined && paths.isAbsolute(path));
  return paths.join(given ?? paths.join(env["HOME"] || homedir(), ...below), "holdfast");
}

function pathsOf(platform: NodeJS.Platform): typeof posix {
  return platform === "win32" ? win32 : posix;
}
