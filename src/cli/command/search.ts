import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { exitCodes, type ExitCode } from "../errors.ts";
import { fittedTable, type Column } from "../output/table.ts";
import type { SearchJson } from "../output/json-shapes.ts";

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
  if (output.json) await output.printJson({ tools } satisfies SearchJson);
  else if (tools.length === 0)
    output.note(
      "holdfast: no tool that a command has listed has these words. To list those of a server:\n  holdfast tools SERVER",
    );
  else
    await output.print(
      fittedTable(
        columns,
        tools.map(({ name, server, about }) => [name, server, about]),
        output.columns,
      ),
    );
  return tools.length > 0 ? exitCodes.done : exitCodes.errorResult;
}
