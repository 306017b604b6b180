import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { exitCodes } from "../../src/cli/exit-code.ts";
import { Output } from "../../src/cli/output/output.ts";
import { makeProgram } from "../../src/cli/program.ts";
import { State } from "../../src/cli/state/state.ts";

const page = await readFile(new URL("../../docs/reference/cli.md", import.meta.url), "utf8");
const section = (title: string): string => page.split(/^#+ /m).find((text) => text.startsWith(title)) ?? "";
const { stdin, stdout, stderr } = process;
const io = { stdin, stdout, stderr, env: {}, cwd: "/", now: () => 0 };
const context = { io, output: new Output(io, false), state: new State(io) };
const { commands } = await makeProgram(context, () => undefined, ["admin"]);
const all = commands.flatMap((command) => [command, ...command.commands]);

it("lists every exit code", () => {
  const listed = [...section("Exit codes").matchAll(/^\| (\d+) /gm)].map(([, code]) => Number(code));
  expect(listed).toEqual(Object.values(exitCodes));
});

it("lists every command", () => {
  const listed = [...section("Commands").matchAll(/^\| `(\w+)/gm)].map(([, name = ""]) => name);
  expect(new Set(listed)).toEqual(new Set(commands.map((command) => command.name())));
  expect(listed).toHaveLength(commands.length);
});

it("names every option", () => {
  const options = all.flatMap((command) => command.options.map(({ long }) => long ?? ""));
  expect(options.length).toBeGreaterThan(10);
  expect(options.filter((option) => !page.includes(option))).toEqual([]);
});
