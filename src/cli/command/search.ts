import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { exitCodes, type ExitCode } from "../errors.ts";
import { fittedTable, type Column } from "../output/table.ts";

const columns: readonly Column[] = [
  { title: "TOOL", least: 12 },
  { title: "SERVER", least: 12 },
  { title: "ABOUT", least: 20 },
];

/** `holdfast search WORD…`: tools of all servers that commands have listed, without asking any. All words are in the name or the first line. */
export async function search({ output, state }: Context, { words }: Given<"search">): Promise<ExitCode> {
  const wanted = words.map((word) => word.toLowerCase());
  const tools = (await state.knownTools()).filter(({ name, about }) => {
    const text = `${name} ${about}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  const rows = tools.map(({ name, server, about }) => [name, server, about]);
  return output.say({
    json: { tools },
    text: rows.length === 0 ? "" : fittedTable(columns, rows, output.columns),
    notes: [
      rows.length === 0 &&
        "holdfast: no tool that a command has listed has these words. To list those of a server:\n  holdfast tools SERVER",
    ],
    code: rows.length > 0 ? exitCodes.done : exitCodes.errorResult,
  });
}
