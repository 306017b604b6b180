import type { Io } from "./io.ts";
import type { Output } from "./output/output.ts";

/** Options of every command that reaches a server. */
export interface ServerOptions {
  readonly config?: string;
  readonly token?: string;
  readonly header?: readonly string[];
}

/** What every command is given. */
export interface Context {
  readonly io: Io;
  readonly output: Output;
}
