import type { Pair } from "../arguments/read-pairs.ts";
import { readPairs } from "../arguments/read-pairs.ts";
import type { Context, WaitingOptions } from "../context.ts";
import { UsageError } from "../errors.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import type { CompleteJson } from "../output/base-json-shapes.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { request } from "../server/request.ts";
import { withServer } from "../server/with-server.ts";

interface CompleteCommand {
  readonly server: string;
  readonly kind: "prompt" | "resource";
  /** The prompt's name, or the URI template of the resource. */
  readonly name: string;
  readonly pairs: readonly string[];
  readonly options: WaitingOptions;
}

/** `holdfast complete SERVER prompt NAME known=value argument=begin` */
export async function complete(
  context: Context,
  { server, kind, name, pairs, options }: CompleteCommand,
): Promise<ExitCode> {
  const asked = await resolveServer(context, server, options);
  const { output, io } = context;
  const values = (await readPairs(pairs, io.cwd)).map(textOf);
  const [argument] = values.slice(-1);
  const known = Object.fromEntries(values.slice(0, -1).map((each) => [each.name, each.value]));
  if (argument === undefined) throw new UsageError("Say which argument to complete.");
  const params = {
    ref:
      kind === "prompt"
        ? ({ type: "ref/prompt", name } as const)
        : ({ type: "ref/resource", uri: name } as const),
    argument,
    ...(values.length > 1 && { context: { arguments: known } }),
  };
  return withServer(context, { server: asked }, options, async ({ client, signal, terminal }) => {
    const { completion } = await request(async (how) => client.sdk.complete(params, how), signal);
    terminal.display.end();
    const { values: found, total, hasMore = false } = completion;
    if (output.json) {
      const document: CompleteJson = { values: found, ...(total !== undefined && { total }), hasMore };
      await output.printJson(document);
      return exitCodes.done;
    }
    await output.print(found.map((value) => `${value}\n`).join(""));
    if (hasMore || (total ?? 0) > found.length)
      output.note(
        `holdfast: these are the first ${found.length}${total === undefined ? "" : ` of ${total}`}`,
      );
    return exitCodes.done;
  });
}

function textOf({ key, value, isJson }: Pair): { readonly name: string; readonly value: string } {
  if (isJson || typeof value !== "string")
    throw new UsageError(`${key} takes the start of a value: write ${key}=…`);
  return { name: key, value };
}
