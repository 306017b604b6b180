import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { commandsUrl, renderCommands, wholeProgram } from "../../scripts/commands.ts";
import { exitCodes } from "../../src/cli/errors.ts";

const read = async (name: string): Promise<string> =>
  readFile(new URL(`../../docs/reference/${name}.md`, import.meta.url), "utf8");

it("lists every exit code", async () => {
  const page = (await read("cli")).split("### Exit codes")[1] ?? "";
  const listed = [...page.matchAll(/^\| (\d+) /gm)].map(([, code]) => Number(code));
  expect(listed).toEqual(Object.values(exitCodes));
});

it("has the page of commands; if not: npm run docs:commands", async () => {
  expect(await readFile(commandsUrl, "utf8")).toBe(await renderCommands());
});

it("says what each command with --json prints", async () => {
  const page = await read("cli-json");
  const { commands } = await wholeProgram();
  const silent = ["admin", "completion", "journal", "replay", "serve", "shell"];
  const named = commands.map((command) => command.name()).filter((name) => !silent.includes(name));
  expect(named.length).toBeGreaterThan(25);
  expect(named.filter((name) => !new RegExp(`\`${name}[ \`]`).test(page))).toEqual([]);
});
