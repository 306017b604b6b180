import type { OptionsOf, serverOptions } from "./declare.ts";
import type { ExitCode } from "./errors.ts";
import type { Io } from "./io.ts";
import type { Output } from "./output/output.ts";
import type { State } from "./state/state.ts";

/** Options of every command that reaches a server. */
export interface ServerOptions extends OptionsOf<typeof serverOptions> {
  /** Whether the command connects to several servers, so that HOLDFAST_TOKEN could go to the wrong one. */
  readonly isOneOfSeveral?: boolean;
}

/** Options of every command that can wait. */
export interface WaitingOptions extends ServerOptions {
  /** In seconds. */
  readonly timeout?: number;
}

/** Options of every command about one task. */
export interface TaskOptions extends WaitingOptions {
  /** The server of a task that was started elsewhere. */
  readonly server?: string;
}

/** What every command gets. */
export interface Context {
  readonly io: Io;
  readonly output: Output;
  readonly state: State;
  /** For a prompt: runs other commands, and completes what is typed of one. */
  readonly commands?: {
    readonly run: (words: readonly string[]) => Promise<ExitCode>;
    readonly complete: (line: string) => Promise<readonly string[]>;
  };
}
