import { type ChildProcess, execFile, spawn, type SpawnOptions } from "node:child_process";
import { mkdir, readdir, readFile, readlink, rename, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { promisify } from "node:util";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../clock.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskStore } from "../../store/store.ts";
import { isTerminal } from "../../task/outcome.ts";
import { NonRetryableError } from "../tool/tool-errors.ts";
import { usualExecFolder } from "./exec-options.ts";

/** A process that leads a group of its own, on one machine, until that machine starts again. */
interface GroupLeader {
  readonly pid: number;
  /** As the system tells it: another process that gets the same number later began at another time. */
  readonly startedAt: string;
  readonly machine: Machine;
}

export interface Machine {
  readonly host: string;
  /** Another one after each start of the machine or of the container, and empty where the system does not tell. */
  readonly boot: string;
}

const run = promisify(execFile);

let known: Promise<Machine> | undefined;

/** The machine, or the container, that this process runs in. */
function thisMachine(): Promise<Machine> {
  known ??= bootOf().then((boot) => ({ host: hostname(), boot }));
  return known;
}

async function bootOf(): Promise<string> {
  try {
    if (process.platform !== "linux") return (await run("sysctl", ["-n", "kern.boottime"])).stdout.trim();
    const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    return `${boot} ${await readlink("/proc/self/ns/pid")}`;
  } catch {
    return "";
  }
}

/** When the process of that number began; undefined if there is none, or only what its parent has not yet taken note of. */
async function startOf(pid: number): Promise<string | undefined> {
  try {
    if (process.platform === "linux") {
      const line = await readFile(`/proc/${pid}/stat`, "utf8");
      const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
      return /^[ZX]/.test(fields[0] ?? "Z") ? undefined : fields[19];
    }
    const { stdout } = await run("ps", ["-o", "stat=,lstart=", "-p", String(pid)]);
    const [, state, started] = /^\s*(\S+)\s+(.+?)\s*$/.exec(stdout) ?? [];
    return state?.startsWith("Z") === true ? undefined : started;
  } catch {
    return undefined;
  }
}

/** Whether the leader itself runs. */
async function leads({ pid, startedAt, machine }: GroupLeader): Promise<boolean> {
  const { boot } = await thisMachine();
  return boot === machine.boot && (await startOf(pid)) === startedAt;
}

const shortestLookMs = 20;

const longestLookMs = 250;

/** After SIGKILL, nothing is left but what the system has not yet taken note of, or may not be ended. */
const giveUpMs = 5_000;

/** Tells all processes of the group to end, ends those that are left after `graceMs`, and resolves when none is left. */
export async function endGroup(leader: GroupLeader, graceMs: number): Promise<void> {
  const { pid, startedAt, machine } = leader;
  const now = await startOf(pid);
  // The number of a leader that has ended goes to nobody else while processes of its group live.
  const isOther = (await thisMachine()).boot !== machine.boot || (now !== undefined && now !== startedAt);
  if (isOther || !signal(pid, "SIGTERM")) return;
  const until = systemClock.elapsed() + graceMs;
  for (let ms = shortestLookMs; signal(pid, 0); ms = Math.min(ms * 2, longestLookMs)) {
    if (systemClock.elapsed() >= until + giveUpMs) return;
    if (systemClock.elapsed() >= until) signal(pid, "SIGKILL");
    await new Promise<void>((resolve) => systemClock.after(ms, resolve, "keep alive"));
  }
}

/** Whether a process of the group was there to get the signal; 0 only asks. */
function signal(group: number, what: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, what);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // it has become another user's, as sudo does
  }
}

/** What is needed to find a process again that was started for a step, and its files. */
export interface Launched extends GroupLeader {
  /** Its files, in a folder of their own. */
  readonly folder: string;
  /** Epoch ms. */
  readonly at: number;
}

/** What a folder says of its process; who finds it there reads whose it is. */
interface FolderNote extends Launched {
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
  const child = spawned(file, ["-c", leader, "sh", folder, file, ...args], {
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

function spawned(file: string, words: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn("/bin/sh", words, options);
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "E2BIG")) throw cause;
    const longer = `The arguments or the environment of ${file} are longer than the system allows`;
    throw new NonRetryableError(`${longer} (E2BIG). Pass long data by its standard input or a file.`, {
      cause,
    });
  }
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
async function forget({ folder }: Pick<Launched, "folder">): Promise<void> {
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

const lookMs = 10_000;

/** How long the files of a process are kept that no handler has taken the result of, and whose task is not of this store. */
const keptMs = 7 * 24 * 3_600_000;

/** How long a folder may be without a note: its server died before the process was in the journal. */
const unnotedMs = 600_000;

const killAfterMs = 5_000;

export interface StartedProcessesSetup {
  /** Left out: a folder of the user. */
  readonly folder: string | undefined;
  readonly store: Pick<TaskStore, "get">;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * The processes that steps have started on this machine, by the folders of their files. Those that no handler here follows are looked at from time to
 * time: where the task has ended, they are ended.
 */
export class StartedProcesses {
  readonly #setup: StartedProcessesSetup;
  readonly #root: string;
  /** The folders of those that a handler follows here, or starts. */
  readonly #followed = new Set<string>();
  #cancelTimer: (() => void) | undefined;
  #isStopped = false;

  constructor(setup: StartedProcessesSetup) {
    this.#setup = setup;
    this.#root = setup.folder ?? usualExecFolder();
  }

  start(): void {
    let looking = this.#look();
    this.#cancelTimer = this.#setup.clock.every(lookMs, () => {
      looking = looking.then(() => this.#look());
    });
  }

  /** Ends the looks. One that is under way asks the store for nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  /** A new place for the files of a process. */
  place(): string {
    return join(this.#root, randomUUID());
  }

  /** While a process is started. */
  async launching<T>(place: Pick<Launched, "folder">, work: () => Promise<T>): Promise<T> {
    this.#followed.add(place.folder);
    try {
      return await work();
    } catch (error) {
      await this.done(place);
      throw error;
    }
  }

  follows({ folder }: Launched): void {
    this.#followed.add(folder);
  }

  leaves({ folder }: Launched): void {
    this.#followed.delete(folder);
  }

  /** Its files are of no more use. */
  async done(launched: Pick<Launched, "folder">): Promise<void> {
    await forget(launched).catch(this.#setup.onError);
    this.#followed.delete(launched.folder);
  }

  async #look(): Promise<void> {
    const names = await readdir(this.#root).catch(() => []);
    for (const name of names) {
      const folder = join(this.#root, name);
      if (this.#isStopped) return;
      if (!this.#followed.has(folder))
        await this.#lookAt(folder).catch((error: unknown) => this.#failed(error));
    }
  }

  async #lookAt(folder: string): Promise<void> {
    const { store } = this.#setup;
    const note = await noteIn(folder);
    if (note === undefined) return this.#removeOld(folder, unnotedMs);
    const found = await lookFor(note);
    if (found === "elsewhere") return;
    if (this.#isStopped) return;
    const task = note.taskId === null ? undefined : await store.get(note.taskId);
    const isOver =
      note.taskId === null ? !(await leads(note.server)) : task !== undefined && isTerminal(task.state);
    if (isOver && !this.#followed.has(folder)) {
      await endGroup(note, killAfterMs);
      await forget({ folder });
    } else if (found !== "runs" && task === undefined) await this.#removeOld(folder, keptMs);
  }

  #failed(error: unknown): void {
    if (!this.#isStopped) this.#setup.onError(error); // otherwise the store was closed
  }

  async #removeOld(folder: string, ms: number): Promise<void> {
    const found = await stat(folder).catch(() => undefined); // another process may have removed it
    if (found !== undefined && systemClock.now() - found.mtimeMs > ms) await forget({ folder });
  }
}

async function noteIn(folder: string): Promise<FolderNote | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, "process.json"), "utf8")) as FolderNote;
  } catch {
    return undefined;
  }
}
