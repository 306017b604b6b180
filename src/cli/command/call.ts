import {
  completeArguments,
  type Pair,
  parseArguments,
  readJsonArgument,
  readPairs,
} from "../arguments/parse-arguments.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import { readInputSchema } from "../arguments/input-schema.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, UsageError } from "../errors.ts";
import { SaveFolder } from "../output/save-content.ts";
import { taskJson } from "../output/json-shapes.ts";
import { endsWithCommand } from "../server/find-server.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { withServer, type Session } from "../server/with-server.ts";
import { watchCommand, didYouMean } from "../arguments/words.ts";
import { sanitizeLine } from "../terminal/text.ts";
import { showDirect, showOutcome, waitForTask } from "./show-outcome.ts";
import type { TaskClient } from "../../client/task-client.ts";

/** `holdfast call SERVER TOOL key=value …` */
export async function call(context: Context, command: Given<"call">): Promise<ExitCode> {
  const { tool, options } = command;
  const { output, io } = context;
  const asked = await resolveServer(context, command.server, options);
  const pairs = await readPairs(command.pairs, io.cwd);
  const given = await readJsonArgument(options.args, io);
  const { maxChars } = options;
  const folder = await SaveFolder.open(options.save, io.cwd);
  return withServer(context, { server: asked, unfinished: "call" }, options, async (session) => {
    const { client, terminal, server, signal } = session;
    const { display } = terminal;
    const args = await readArguments({ tool, pairs, given }, session, context);
    const onProgress = display.progress.bind(display);
    display.calling(tool);
    const handle = await client.startTool(tool, args, { signal, onProgress });
    const origin = { server: server.shown, tool };
    const shown = { origin, output, session, folder, maxChars };
    if (handle.taskId === null) return showDirect(await handle.result(), shown);
    const serverEnds = endsWithCommand(server);
    if (options.detach === true) {
      if (serverEnds)
        display.note(
          "Its server stops now. If it keeps tasks on disk, the task continues when the server is started again.",
        );
      display.end();
      const json = output.json ? taskJson(await handle.get({ signal }), origin) : {};
      return output.say({ json, text: `${handle.taskId}\n` });
    }
    const { taskId } = handle;
    const started = { taskId, tool, watchCommand: watchCommand(taskId), serverEnds };
    return showOutcome(await waitForTask(started, handle, session), shown);
  });
}

interface GivenArguments {
  readonly tool: string;
  readonly pairs: readonly Pair[];
  /** From `--args`. */
  readonly given: Readonly<Record<string, unknown>>;
}

async function readArguments(
  { tool, pairs, given }: GivenArguments,
  { client, server, signal }: Session,
  { state, output }: Pick<Context, "state" | "output">,
): Promise<Readonly<Record<string, unknown>>> {
  const listed = await listTools(client, signal);
  if (!(listed instanceof TaskClientError)) await state.noteTools(server, listed.tools);
  const problem = listed instanceof TaskClientError ? listed.message : problemOf(tool, listed);
  if (problem !== undefined) output.note(`holdfast: ${problem}; the arguments are sent as they are given`);
  const schema = readInputSchema(
    listed instanceof TaskClientError || problem !== undefined
      ? { additionalProperties: true }
      : pickNamed("tool", tool, listed.tools).inputSchema,
  );
  return completeArguments(parseArguments(pairs, schema, given), schema);
}

/** What a server lists, with what is wrong with the tools that are left out. */
export type ListedTools = Awaited<ReturnType<TaskClient["listTools"]>>;

/**
 * All tools that the server lists, or why it has no list that can be read. Rejects with a `TaskClientError` if the connection was lost or
 * the caller is refused.
 */
export async function listTools(
  client: TaskClient,
  signal: AbortSignal,
): Promise<ListedTools | TaskClientError> {
  try {
    return await client.listTools({ signal });
  } catch (error) {
    const isUnlisted =
      error instanceof TaskClientError && (error.code === "rpc" || error.code === "protocol");
    if (!isUnlisted) throw error;
    const { code, message, cause, error: rpc } = error;
    return new TaskClientError(code, `The server does not list its tools: ${message}`, { cause, error: rpc });
  }
}

/** What is wrong with this tool, if the server lists it but it is left out. */
export function problemOf(name: string, { problems }: ListedTools): string | undefined {
  return problems.find((problem) => problem.startsWith(`tool ${JSON.stringify(name)}: `));
}

/** The tool or prompt of that name; throws a UsageError that names the others. */
export function pickNamed<Item extends { readonly name: string }>(
  kind: "tool" | "prompt",
  name: string,
  listed: readonly Item[],
): Item {
  const found = listed.find((each) => each.name === name);
  if (found !== undefined) return found;
  const names = listed.map((each) => each.name);
  const has = sanitizeLine(names.join(", ")) || "none";
  throw new UsageError(
    `The server has no ${kind} ${JSON.stringify(name)}. ${didYouMean(name, names)}It has ${has}.`,
  );
}
