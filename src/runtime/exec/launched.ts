import { spawn } from "node:child_process";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { HoldfastError } from "../../task/fault.ts";
import { endGroup, leads, startOf, thisMachine, type GroupLeader } from "./process-group.ts";

/** What is needed to find a process again that was started for a step, and its files. */
export interface Launched extends GroupLeader {
  /** Its files, in a folder of their own. */
  readonly folder: string;
  /** Epoch ms. */
  readonly at: number;
}

/** What a folder says of its process; who finds it there reads whose it is. */
export interface FolderNote extends Launched {
  /** Null for a call that is answered directly: no task outlives its server. */
  readonly taskId: string | null;
  /** The process of the server. */
  readonly server: GroupLeader;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | Uint8Array;
}

/**
 * The leader of the group. It waits for the word to begin: if the server ends before that, it ends too, and nothing has run. It outlives what it runs,
 * also when its group is told to end, and leaves the exit code. `exec` takes files alone, and none of a shell's own commands.
 */
const leader = `
IFS= read -r go <&3 || exit 1
exec 3<&-
folder=$1
shift
trap : HUP INT TERM
: > "$folder/began"
(exec "$@") < "$folder/in" > "$folder/out" 2> "$folder/err"
printf %s "$?" > "$folder/exit.new" && mv "$folder/exit.new" "$folder/exit"
`;

/** A process that waits for `begin`, which is its end without one. */
export interface Waiting {
  readonly launched: Launched;
  readonly begin: () => Promise<void>;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
}

export interface Place {
  readonly folder: string;
  readonly taskId: string | null;
  readonly at: number;
}

/** Starts a process up to the point where its work would begin. */
export async function launch(command: Command, { folder, taskId, at }: Place): Promise<Waiting> {
  const { file, args, cwd, env, stdin } = command;
  if (process.platform === "win32")
    throw new HoldfastError("configuration", "task.exec needs a POSIX system: it does not run on Windows.");
  if (!(await isFolder(cwd))) throw new Error(`There is no folder ${cwd} to run ${file} in.`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const [inFile, ...outFiles] = ["in", "out", "err"].map((name) => join(folder, name)) as [
    string,
    ...string[],
  ];
  await writeFile(inFile, stdin, { mode: 0o600 });
  for (const each of outFiles) await writeFile(each, "", { mode: 0o600 });
  const child = spawn("/bin/sh", ["-c", leader, "sh", folder, file, ...args], {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const ended = new Promise<void>((resolve) => void child.once("exit", () => resolve()));
  await new Promise<void>((resolve, reject) => void child.once("spawn", resolve).once("error", reject));
  child.unref();
  const go = child.stdio[3] as Writable;
  go.on("error", () => undefined); // it has ended, which is noticed
  const { pid = 0 } = child;
  const startedAt = (await startOf(pid)) ?? "";
  const machine = await thisMachine();
  const launched = { pid, startedAt, machine, folder, at };
  const server = { pid: process.pid, startedAt: (await startOf(process.pid)) ?? "", machine };
  const note: FolderNote = { ...launched, taskId, server };
  const noteFile = join(folder, "process.json");
  await writeFile(`${noteFile}.new`, JSON.stringify(note), { mode: 0o600 });
  await rename(`${noteFile}.new`, noteFile); // a server that dies meanwhile leaves no half of it
  const begin = (): Promise<void> => new Promise((resolve) => go.end("go\n", () => resolve()));
  return { launched, begin, ended };
}

/**
 * What became of a process: it runs, has ended by itself with a code, was ended by us, never began, ended without anybody who noted its code, or is on
 * another machine, whose files are not here.
 */
export type Found =
  "runs" | "ended by us" | "not begun" | "lost" | "elsewhere" | { readonly exitCode: number };

/** Looks for a process again. */
export async function lookFor(launched: Launched): Promise<Found> {
  const { folder, machine } = launched;
  const runs = await leads(launched); // before its exit code: that is there when the leader ends
  const exit = await read(folder, "exit");
  if (exit === undefined && runs) return "runs";
  if ((await read(folder, "ended")) !== undefined) return "ended by us";
  if (exit !== undefined) return { exitCode: Number(exit) };
  if ((await thisMachine()).host !== machine.host) return "elsewhere";
  const isKnown = (await read(folder, "process.json")) !== undefined;
  return isKnown && (await read(folder, "began")) === undefined ? "not begun" : "lost";
}

/** Ends a process before its time, with all of its group: from now on its exit code says nothing. */
export async function end(launched: Launched, graceMs: number): Promise<void> {
  await writeFile(join(launched.folder, "ended"), "").catch(() => undefined); // its files are gone
  await endGroup(launched, graceMs);
}

/** Removes the files of a process. */
export async function forget({ folder }: Pick<Launched, "folder">): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

async function read(folder: string, name: string): Promise<string | undefined> {
  try {
    return await readFile(join(folder, name), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}
