import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { commandsUrl, jsonUrl, renderCommands, renderJson } from "../../scripts/commands.ts";
import { adminCommands } from "../../src/cli/command/admin/operation-commands.ts";
import { allCommands } from "../../src/cli/commands.ts";
import { exitCodes } from "../../src/cli/errors.ts";

const read = async (name: string): Promise<string> =>
  readFile(new URL(`../../docs/reference/${name}.md`, import.meta.url), "utf8");

it("lists every exit code", async () => {
  const page = (await read("cli")).split("### Exit codes")[1] ?? "";
  const listed = [...page.matchAll(/^\| (\d+) /gm)].map(([, code]) => Number(code));
  expect(listed).toEqual(Object.values(exitCodes));
});

it("has the pages of commands and of their JSON; if not: npm run docs:commands", async () => {
  expect(await readFile(commandsUrl, "utf8")).toBe(await renderCommands());
  expect(await readFile(jsonUrl, "utf8")).toBe(await renderJson());
});

it("says of each command with --json what it prints, and of no other", async () => {
  const admin = Object.entries(adminCommands).map(([name, declared]) => [`admin ${name}`, declared] as const);
  const groups = new Set(["admin", "journal"]);
  const noted = [...allCommands, ...admin].filter(
    ([name, { prints }]) => !groups.has(name) && prints === undefined,
  );
  expect(noted.map(([name]) => name).toSorted()).toEqual(["completion", "replay", "serve", "shell"]);
});
