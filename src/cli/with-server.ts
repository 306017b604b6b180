import { systemClock } from "../client/clock.ts";
import type { TaskClient } from "../client/task-client.ts";
import type { Context, ServerOptions } from "./context.ts";
import { exitCodes } from "./exit-code.ts";
import type { FoundServer } from "./server/find-server.ts";
import { openServer } from "./server/open-server.ts";
import { Stopped } from "./stopped.ts";
import { openTerminal } from "./terminal/open-terminal.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** A connection, for as long as a command needs it. */
export interface Session {
  readonly client: TaskClient;
  readonly server: FoundServer;
  readonly terminal: Terminal;
  /** Aborts at Ctrl-C, and when `--timeout` is over. */
  readonly signal: AbortSignal;
}

export interface WaitingOptions extends ServerOptions {
  /** In seconds. */
  readonly timeout?: number;
}

/** Connects to the server, and ends the connection and the display however `work` ends. */
export async function withServer<Value>(
  { io, output }: Context,
  server: FoundServer,
  options: WaitingOptions,
  work: (session: Session) => Promise<Value>,
): Promise<Value> {
  const terminal = await openTerminal(io, { quiet: output.json });
  const { interrupts, display } = terminal;
  const deadline = options.timeout === undefined ? undefined : systemClock.deadline(options.timeout * 1000);
  const signal = AbortSignal.any([interrupts.signal, ...(deadline ? [deadline.signal] : [])]);
  try {
    const client = await openServer({ server, options, env: io.env, terminal, signal });
    try {
      return await work({ client, server, terminal, signal });
    } finally {
      await client.close();
    }
  } catch (error) {
    // A wait for a task was given up in another way by now.
    if (error !== signal.reason) throw error;
    if (!interrupts.signal.aborted) {
      throw new Stopped(exitCodes.unfinished, "No answer in time: gave up before there was a task");
    }
    await interrupts.decide(undefined);
    throw new Stopped(exitCodes.interrupted, "Interrupted before there was a task", { wasTold: true });
  } finally {
    deadline?.clear();
    display.end();
    terminal.close();
  }
}
