import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import { TaskClientError } from "../../client/task-client-error.ts";
import { splitWords } from "../arguments/words.ts";
import type { Given } from "../commands.ts";
import type { Context, ServerOptions, WaitingOptions } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../errors.ts";
import type { FoundServer } from "../server/find-server.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { withServer } from "../server/with-server.ts";
import { isOpen, isSessionName, type OpenSession } from "../session/open-sessions.ts";

type OpenOptions = Given<"open">["options"];

/** `holdfast open SERVER @NAME`: keeps a server's process, or its session over HTTP, for later commands. */
export async function open(
  context: Context,
  { server, session: name, options }: Given<"open">,
): Promise<ExitCode> {
  const { output, state } = context;
  if (!isSessionName(name))
    throw new UsageError(
      `The name of a session is @ and letters, digits, - or _, such as @page, and not ${JSON.stringify(name)}.`,
    );
  if ((await state.sessions.find(name)) !== undefined) throw isOpen(name);
  const found = await resolveServer(context, server, options);
  if (found.session !== undefined) throw new UsageError(`${server} is a session already.`);
  const protocolVersion =
    typeof found.target === "string"
      ? await openOverHttp(context, found, name, options)
      : await openProcess(context, found, name, options);
  const { shown } = found;
  return output.say({
    json: { name, server: shown, protocolVersion },
    notes: [`opened ${name}. Use it in the place of SERVER, or first:\n  holdfast ${name} tools`],
  });
}

function kept({ spec, name, shown, isTyped, isUsers }: FoundServer): OpenSession["server"] {
  return { spec, name, shown, isTyped, isUsers };
}

async function openProcess(
  context: Context,
  found: FoundServer,
  name: string,
  options: OpenOptions,
): Promise<string> {
  const { sessions } = context.state;
  const { io } = context;
  const { target } = found;
  if (typeof target === "string") throw new TypeError("not a process");
  const terminal = io.stdin.isTTY ? await terminalProcess() : null;
  const program = io.program ?? process.argv[1] ?? "";
  const tryWith = async (protocol: ServerOptions["protocol"]): Promise<string> => {
    const address = await sessions.start({ target, name, idleMs: options.idle * 1000, terminal, program });
    try {
      const server = { ...found, session: { address } };
      // Before the connection ends: a session that is not recorded by then ends with it.
      const add = (protocolVersion: string): void =>
        sessions.add({ name, address, protocolVersion, server: kept(found) });
      return await versionOf(context, server, { ...options, ...(protocol && { protocol }) }, add);
    } catch (error) {
      await sessions.close(address);
      throw error;
    }
  };
  const { protocol } = options;
  return tryWith(protocol).catch(async (error: unknown) => {
    // Some servers end on any request before the handshake, or never answer one.
    const mayKnowEarlier =
      error instanceof TaskClientError && ["connection", "protocol"].includes(error.code);
    if (protocol !== undefined || !mayKnowEarlier) throw error;
    return tryWith("earlier");
  });
}

/** A session over HTTP needs no process: what ends with a command otherwise is stored for the next one. */
async function openOverHttp(
  context: Context,
  found: FoundServer,
  name: string,
  options: OpenOptions,
): Promise<string> {
  const { sessions } = context.state;
  const session = { name, address: null, protocolVersion: "", server: kept(found) };
  sessions.add(session);
  try {
    const protocolVersion = await versionOf(context, found, options);
    sessions.keep({ ...session, protocolVersion });
    return protocolVersion;
  } catch (error) {
    sessions.forget(name);
    throw error;
  }
}

async function versionOf(
  context: Context,
  server: FoundServer,
  options: WaitingOptions,
  use: (version: string) => void = () => undefined,
): Promise<string> {
  return withServer(context, { server }, options, async ({ client }) => {
    const version = client.sdk.getNegotiatedProtocolVersion() ?? "";
    use(version);
    return version;
  });
}

/** The shell of the terminal, where the system says which process it is. */
async function terminalProcess(): Promise<number | null> {
  const stat = await readFile("/proc/self/stat", "utf8").catch(() => "");
  // Behind the name of the program, which can contain anything: state, parent, group, session.
  const session = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
  return Number.isInteger(session) && session > 0 ? session : null;
}

/** `holdfast close @NAME` */
export async function close(context: Context, { session: name, options }: Given<"close">): Promise<ExitCode> {
  const { output, state } = context;
  const session = await state.sessions.find(name);
  if (session === undefined) throw new UsageError(`There is no open session ${name}.`);
  if (session.address !== null) await state.sessions.close(session.address);
  else {
    const server = await resolveServer(context, name, options);
    state.sessions.forget(name);
    // The last command of the session ends it, if the server is still there.
    await versionOf(context, server, options).catch(() => undefined);
  }
  return output.say({ json: { name }, notes: [`closed ${name}`] });
}

/** `holdfast @NAME`: a prompt for the commands of a session, until its end, `exit` or Ctrl-D. */
export async function shell(
  { io, output, state, commands }: Context,
  { session: name }: Given<"shell">,
): Promise<ExitCode> {
  if (commands === undefined) throw new TypeError("no commands");
  let code: ExitCode = exitCodes.done;
  const run = async (line: string): Promise<boolean> => {
    const words = wordsOf(line, output);
    if (words === undefined || words.length === 0) return true;
    if (["exit", "quit"].includes(words[0] ?? "")) return false;
    const [command = ""] = words;
    code = await commands.run(command === "help" ? words : [name, ...words]);
    return command !== "close";
  };
  if ((await state.sessions.find(name)) === undefined) return commands.run(["tools", name]); // says what is open
  if (!io.stdin.isTTY) {
    for await (const line of createInterface({ input: io.stdin })) if (!(await run(line))) break;
    return code;
  }
  const history: string[] = [];
  for (;;) {
    const line = await ask(io, `${name}> `, history, async (typed) =>
      commands.complete(`holdfast ${name} ${typed}`),
    );
    if (line === undefined || !(await run(line))) return exitCodes.done;
  }
}

function wordsOf(line: string, output: Context["output"]): readonly string[] | undefined {
  try {
    return splitWords(line);
  } catch (error) {
    output.note(`holdfast: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** A line of the user; undefined at Ctrl-C and Ctrl-D. Commands read the terminal themselves, so it is released after each line. */
async function ask(
  { stdin, stderr }: Context["io"],
  prompt: string,
  history: string[],
  complete: (typed: string) => Promise<readonly string[]>,
): Promise<string | undefined> {
  const lines = createInterface({
    input: stdin,
    output: stderr,
    history,
    completer: async (typed: string): Promise<[string[], string]> => [
      [...(await complete(typed))],
      typed.split(" ").at(-1) ?? "",
    ],
  });
  const closed = new AbortController();
  lines.once("close", () => closed.abort());
  lines.on("history", (all: readonly string[]) => history.splice(0, Infinity, ...all));
  try {
    return await lines.question(prompt, { signal: closed.signal });
  } catch {
    return undefined;
  } finally {
    lines.close();
  }
}
