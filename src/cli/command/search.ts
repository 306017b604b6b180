import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { exitCodes, type ExitCode } from "../errors.ts";
import { fittedTable, type Column } from "../output/table.ts";

const columns: readonly Column<{ readonly name: string; readonly server: string; readonly about: string }>[] =
  [
    ["TOOL", 12, ({ name }) => name],
    ["SERVER", 12, ({ server }) => server],
    ["ABOUT", 20, ({ about }) => about],
  ];

/** `holdfast search WORD…`: tools of all servers that commands have listed, without asking any. All words are in the name or the first line. */
export async function search({ output, state }: Context, { words }: Given<"search">): Promise<ExitCode> {
  const wanted = words.map((word) => word.toLowerCase());
  const tools = (await state.knownTools()).filter(({ name, about }) => {
    const text = `${name} ${about}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  return output.say({
    json: { tools },
    text: tools.length === 0 ? "" : fittedTable(columns, tools, output.columns),
    notes: [
      tools.length === 0 &&
        "holdfast: no tool that a command has listed has these words. To list those of a server:\n  holdfast tools SERVER",
    ],
    code: tools.length > 0 ? exitCodes.done : exitCodes.errorResult,
  });
}
