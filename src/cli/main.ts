import { format } from "node:util";
import { CommanderError, type Command } from "commander";
import {
  moveActionFirst,
  moveServerFirst,
  moveSessionBehind,
  protectId,
  wantsJson,
} from "./arguments/rewrite-argv.ts";
import { startPage } from "./declare.ts";
import { askedByShells } from "./completion/scripts.ts";
import type { Context } from "./context.ts";
import { type ExitCode, exitCodes, UsageError } from "./errors.ts";
import type { Io } from "./io.ts";
import { adminActions, makeProgram } from "./program.ts";
import { BrokenPipe, Output, reportFailure } from "./output/output.ts";
import { keepsSession } from "./session/session-messages.ts";
import { State } from "./state/state.ts";
import { movesCursor } from "./terminal/terminal.ts";
import { sanitizeText } from "./terminal/text.ts";

/** Runs one command, and resolves with the exit code. Never rejects. */
export async function main(argv: readonly string[], io: Io): Promise<ExitCode> {
  // Without a listener an error would end the process with a stack trace. Writes report the error too. A prompt runs many commands.
  for (const stream of [io.stdout, io.stderr]) stream.off("error", ignore).on("error", ignore);
  const output = new Output(io, wantsJson(argv));
  try {
    return await run(argv, io, output);
  } catch (error) {
    return error instanceof BrokenPipe ? exitCodes.brokenPipe : reportFailure(error, output);
  }
}

async function run(argv: readonly string[], io: Io, output: Output): Promise<ExitCode> {
  if (argv.length === 0) return output.say({ json: {}, text: startPage });
  if (argv[0] === keepsSession && argv.length === 1) {
    const { keepSession } = await import("./session/session-process.ts");
    return keepSession(io);
  }
  const context: Context = {
    io,
    output,
    state: new State(io),
    commands: {
      run: async (words) => main(words, io),
      complete: async (line) => (await import("./command/completion.ts")).completed(program, context, line),
    },
  };
  let exitCode: ExitCode = exitCodes.done;
  const program: Command = await makeProgram(context, (code) => (exitCode = code), argv);
  if (argv[0] === askedByShells) {
    const { completeWords } = await import("./command/completion.ts");
    return completeWords(program, context, argv.slice(1));
  }
  try {
    const words = moveActionFirst(moveServerFirst(protectId(moveSessionBehind(argv))), adminActions(program));
    await program.parseAsync(words, { from: "user" });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0 && output.json) throw new UsageError(error.message.replace(/^error: /, ""));
    // Commander has printed its message, or help.
    await output.written();
    return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  }
}

function ignore(): void {}

/**
 * Redirects what libraries write to the console to stderr, because stdout is for results. Sanitizes it, because warnings can contain
 * names chosen by a server.
 */
export function redirectConsole({ stderr, env }: Pick<Io, "stderr" | "env">): void {
  const write = (...values: readonly unknown[]): void => {
    if (movesCursor(stderr, env)) stderr.write("\r\u001b[K"); // a live line redraws itself
    stderr.write(`${sanitizeText(format(...values))}\n`);
  };
  for (const method of ["debug", "error", "info", "log", "warn"] as const) console[method] = write;
}
