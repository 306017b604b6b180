import type { ServerProcess } from "../../client/transport/process-transport.ts";

/** The only argument of a process that keeps a session. */
export const keepsSession = "__session";

/** What the process reads from its stdin. */
export interface SessionSetup {
  readonly target: Pick<ServerProcess, "command" | "args" | "cwd" | "env">;
  /** The path of the socket, or the name of the pipe. */
  readonly socket: string;
  /** Where the session is recorded, and its name there. It is forgotten at the end, if it still has the token. */
  readonly state: { readonly file: string; readonly name: string };
  /** A folder to be removed at the end, if there is one. */
  readonly folder: string | null;
  /** What a command has to know. */
  readonly token: string;
  /** How long the session goes on without a command. */
  readonly idleMs: number;
  /** The process of the terminal, with which the session ends. */
  readonly terminal: number | null;
}

/** How a command reaches the process of a session. */
export interface SessionAddress {
  /** With its `@`. */
  readonly name: string;
  readonly socket: string;
  readonly token: string;
}

/** The first line of a command. */
export interface Greeting {
  readonly token: string;
  /** Whether to end the session. */
  readonly close?: true;
}

/** The last line to a command, if the session ends. */
export interface Ending {
  /** The end of what the server wrote to its stderr. */
  readonly ended: string;
}
