import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Io } from "../io.ts";

/** Where this user's unfinished tasks are kept: `HOLDFAST_STATE`, else `holdfast` in the XDG state folder. */
export function stateFolder({ env, cwd }: Pick<Io, "env" | "cwd">): string {
  const asked = env["HOLDFAST_STATE"];
  if (asked !== undefined && asked !== "") return resolve(cwd, asked);
  return join(env["XDG_STATE_HOME"] || join(env["HOME"] || homedir(), ".local", "state"), "holdfast");
}
