import { PassThrough, Writable } from "node:stream";
import type { Command } from "commander";
import { split } from "shlex";
import { expect, it } from "vitest";
import { moveActionFirst, moveServerFirst } from "../../src/cli/arguments/rewrite-argv.ts";
import type { Context } from "../../src/cli/context.ts";
import { adminCommands } from "../../src/cli/command/admin/operation-commands.ts";
import { allCommands } from "../../src/cli/commands.ts";
import { firstCommands } from "../../src/cli/declare.ts";
import type { Io } from "../../src/cli/io.ts";
import { main } from "../../src/cli/main.ts";
import { adminActions, makeProgram } from "../../src/cli/program.ts";
import { Pty } from "./terminal/pty.ts";
import { runMain } from "./run-main.ts";

/** The commands, none of which does anything but note that it was asked for. */
async function program(ran: (path: string) => void = () => undefined): Promise<Command> {
  const io = { stdout: { write: () => true }, stderr: { write: () => true } };
  const context = { io, output: { json: true } } as unknown as Context;
  const made = await makeProgram(context, () => undefined, ["admin"]);
  for (const [path, command] of commandsOf(made)) command.action(() => ran(path));
  return made;
}

/** All commands that can be given, by their words. */
function commandsOf(command: Command, path: readonly string[] = []): readonly (readonly [string, Command])[] {
  return command.commands.flatMap((part) => {
    const words = [...path, part.name()];
    return [[words.join(" "), part] as const, ...commandsOf(part, words)];
  });
}

const examples = Object.fromEntries(
  [
    ...allCommands,
    ...Object.entries(adminCommands).map(([name, declared]) => [`admin ${name}`, declared] as const),
  ].flatMap(([path, { examples: shown }]) => (shown === undefined ? [] : [[path, shown] as const])),
);

const paths = commandsOf(await program()).map(([path]) => path);

it.each(["", "--help", "--version", "help", "call --help"])(
  "says that it cannot be written: holdfast %s",
  async (line) => {
    const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { syscall: "write" });
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done(full) });
    const stderr = new PassThrough();
    const io = {
      stdin: process.stdin,
      stdout,
      stderr,
      env: {},
      cwd: "/",
      program: "holdfast",
      now: Date.now,
    };
    const code = await main(split(line), io as unknown as Io);
    expect([code, String(stderr.read())]).toEqual([74, `holdfast: ${full.message}\n`]);
  },
);

it.each(["", ...paths])("fits 80 columns: holdfast %s --help", async (path) => {
  for (const columns of [undefined, 80, 200]) {
    const { code, stdout } = await runMain(
      [...path.split(" ").filter((word) => word !== ""), "--help"],
      columns === undefined ? {} : { columns },
    );
    expect(code).toBe(0);
    expect(stdout.split("\n").filter((line) => line.length > 79)).toEqual([]);
  }
});

it("has examples for each command, and for no other", async () => {
  const toShow = commandsOf(await program()).filter(
    ([path, { commands }]) => ["admin", "servers"].includes(path) || commands.length === 0,
  );
  expect(Object.keys(examples).toSorted()).toEqual(toShow.map(([path]) => path).toSorted());
});

it.each([
  ...Object.entries(examples).flatMap(([path, shown]) => shown.map(([line]) => [line, path] as const)),
  ...firstCommands.map(([line]) => [line, ""] as const),
])("has examples that are understood: %s", async (line, path) => {
  const ran: string[] = [];
  const made = await program((words) => ran.push(words));
  const [name, ...argv] = split(line);
  expect(name).toBe("holdfast");
  await made.parseAsync(moveActionFirst(moveServerFirst(argv), adminActions(made)), { from: "user" });
  expect(ran).toEqual([expect.stringMatching(new RegExp(`^${path}`)) as string]);
});

it("begins with three commands to try", { timeout: 60_000 }, async () => {
  const pty = await Pty.holdfast([]);
  expect(await pty.ends()).toBe(0);
  // With room for the shell's prompt on the usual screen.
  const shown = pty.screen.text.slice(0, pty.screen.text.search(/^speed /m));
  expect(shown.trimEnd().split("\n").length).toBeLessThan(24);
  await expect(`${shown.trimEnd()}\n`).toMatchFileSnapshot("start-80.txt");
  expect(await runMain([])).toEqual({ code: 0, stdout: `${shown.trimEnd()}\n`, stderr: "" });
});

it("lists all commands by what they are for", async () => {
  const { stdout } = await runMain(["help"]);
  await expect(stdout).toMatchFileSnapshot("help-80.txt");
  expect(await runMain(["--help"])).toEqual({ code: 0, stdout, stderr: "" });
});
