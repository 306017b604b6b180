import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { ResourceLink } from "@modelcontextprotocol/server";
import type { TimeSpan } from "../../task/time.ts";
import { numberKind, orKind } from "../../options/kind.ts";
import {
  callback,
  choice,
  list,
  number,
  options,
  row,
  size,
  tableOf,
  text,
  time,
  value,
} from "../../options/options.ts";
import { backoffOptions, type Backoff } from "../clock.ts";
import type { LimitName } from "../limits/limit-name.ts";
import { isLimitName } from "../limits/limit-options.ts";

const isEnv = (given: unknown): boolean =>
  typeof given === "object" &&
  given !== null &&
  Object.entries(given).every(
    ([name, each]) => /^[^=\0]+$/.test(name) && typeof each === "string" && !each.includes("\0"),
  );

const isCodes = (given: unknown): boolean =>
  Array.isArray(given) &&
  given.every((code) => Number.isInteger(code) && (code as number) >= 0 && (code as number) <= 255);

class DeclaredExecArtifacts {
  /** The name of the file for what it prints to its standard output. */
  readonly stdout?: string = text("the name of a file", (name) => name !== "", {});
  /** The same for its standard error. */
  readonly stderr?: string = text("the name of a file", (name) => name !== "", {});
}

/** Names of artifacts for the outputs of a program. */
export interface ExecArtifacts extends DeclaredExecArtifacts {}

export const execArtifactOptions = tableOf<ExecArtifacts>(DeclaredExecArtifacts);

class DeclaredExecOptions {
  /** The folder that the command runs in. Default: that of the server. */
  readonly cwd?: string = text("a path", (path) => path !== "", {});
  /** Variables of its environment, beside those of `inheritEnv`. */
  readonly env?: Readonly<Record<string, string>> = value("texts by the names of variables", isEnv);
  /** The variables that it gets from the server, by their names. Default `PATH`, `HOME`, `USER`, `LANG`, `LC_ALL`, `TZ` and `TMPDIR`. */
  readonly inheritEnv?: readonly string[] = list("names of variables", (name) => name !== "", {
    default: ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"],
  });
  /** What it reads from its standard input. Default: nothing. */
  readonly stdin?: string | Uint8Array = value(
    "a text or bytes",
    (given) => typeof given === "string" || given instanceof Uint8Array,
    { default: "" },
  );
  /** How long each run of the command may take. Then its processes are ended, and the step fails with `step_timeout`. Default: no limit. */
  readonly timeoutMs?: TimeSpan = time({ min: 1 });
  /** How long its processes have to end after SIGTERM, when the task is cancelled or the time is over. Then they get SIGKILL. Default 5 seconds. */
  readonly killAfterMs?: TimeSpan = time({ min: 0, default: 5_000 });
  /**
   * What becomes of it when its server crashes or stops. `adopt`: it lives on, and the next process of the server on this machine reads on where the
   * last one stopped, and takes its exit code. `restart`: its processes are ended, and it begins again. Default `adopt`.
   */
  readonly onCrash?: "adopt" | "restart" = choice(["adopt", "restart"], { default: "adopt" });
  /**
   * What becomes of it when its task goes on on another machine, which cannot see it. `wait`: until the task is back on its machine, or has come to the
   * end of its time, without a slot. `fail`: the step fails with `exec_lost`. Default `wait`.
   */
  readonly onOtherMachine?: "wait" | "fail" = choice(["wait", "fail"], { default: "wait" });
  /** The exit codes with which it has succeeded. Default `[0]`. */
  readonly successCodes?: readonly number[] = value("a list of exit codes", isCodes, { default: [0] });
  /** How often a command that fails runs again. `Infinity`: without limit. Default 0. */
  readonly retries?: number = row(orKind(numberKind("number", { min: 0 }), Infinity), { default: 0 });
  /** The pauses before it runs again. By default they start at 1 second and double up to a minute. */
  readonly backoff?: Backoff = options(backoffOptions);
  /** Whether it runs again after this error; default: always. A number: as for a step. */
  readonly retryIf?: (error: unknown) => boolean | number = callback();
  /** A limit for it, as for a step. A command that lives on without its server keeps its permit. Default: none. */
  readonly limit?: LimitName = value(
    'the name of a limit, or a name and a key: ["builds", tenant]',
    isLimitName,
  );
  /** How much of each output the result has: of one that is larger, the beginning and the end. Default 64 KiB. */
  readonly maxOutputBytes?: number = size({ min: 0, default: 64 * 1024 });
  /**
   * Keeps all of an output as an artifact of the task, by its name, however the program ends in the last run of it: `{ stdout: "build.log" }`. Default:
   * nothing.
   */
  readonly artifacts?: ExecArtifacts = options(execArtifactOptions);
  /** How many lines of each output go to the task's log: of more, the first and the last. Default 1,000. */
  readonly maxLogLines?: number = number({ min: 0, default: 1_000 });
  /** Lowers its priority for the processor, from 0 to 19. Default 0. */
  readonly niceness?: number = number({ min: 0, max: 19, default: 0 });
}

/** How `task.exec` runs a command. */
export interface ExecOptions extends DeclaredExecOptions {}

export const execOptions = tableOf<ExecOptions>(DeclaredExecOptions);

/** What a command has printed and how it ended. */
export interface ExecResult {
  /** As a shell has it: 128 and the number of the signal, for a command that was ended by one. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** To the `artifacts` that were asked for. */
  readonly links: readonly ResourceLink[];
}

interface ExecErrorDetails {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
}

/**
 * `task.exec` rejects with it, on a replay too. `exec_failed`: the command ended with another code than `successCodes`. `exec_lost`: it is gone, and
 * nobody knows how it ended: its machine has started again, or something has killed all of its processes.
 *
 * ```ts
 * try {
 *   await task.exec("lint", "npx", ["eslint", "."]);
 * } catch (error) {
 *   if (!(error instanceof ExecError) || error.exitCode !== 1) throw error;
 *   await task.output(error.stdout);
 * }
 * ```
 */
export class ExecError extends Error {
  override readonly name = "ExecError";
  readonly code: "exec_failed" | "exec_lost";
  /** Undefined if it is lost. */
  readonly exitCode: number | undefined;
  /** What it had printed, as in a result. */
  readonly stdout: string;
  readonly stderr: string;
  /** As in a result. */
  links: readonly ResourceLink[] = [];

  constructor(code: "exec_failed" | "exec_lost", message: string, details: ExecErrorDetails = {}) {
    super(message);
    this.code = code;
    this.exitCode = details.exitCode;
    this.stdout = details.stdout ?? "";
    this.stderr = details.stderr ?? "";
  }

  /** What the journal stores besides the message. */
  get data(): ExecErrorDetails {
    const { exitCode, stdout, stderr } = this;
    return { ...(exitCode !== undefined && { exitCode }), stdout, stderr };
  }
}

/** What a program gets of the server's own environment, and where the server keeps the files of programs unless it is told. */

/** The variables of these names that are set. */
export function ownVariables(names: readonly string[]): Record<string, string> {
  const set = names.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(set.filter((each): each is readonly [string, string] => each[1] !== undefined));
}

export function usualExecFolder(): string {
  const { XDG_STATE_HOME = "" } = process.env;
  const state = isAbsolute(XDG_STATE_HOME) ? XDG_STATE_HOME : join(homedir(), ".local", "state");
  return join(state, "holdfast", "exec");
}
