import { execFileSync } from "node:child_process";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { askedByShells } from "../../src/cli/completion/scripts.ts";
import { folder } from "./run-cli.ts";
import { listener, usersMachine } from "./users-machine.ts";

type Machine = Awaited<ReturnType<typeof usersMachine>>;

interface Place {
  readonly machine: Machine;
  /** Where the attacker listens. */
  readonly url: string;
  /** Where the user's own server is: its address is also that of the entry `mine` of the user's own. */
  readonly own: Awaited<ReturnType<typeof listener>>;
}

interface Shape {
  readonly shape: string;
  /** What the folder's file names. */
  readonly entries: (place: Place) => Readonly<Record<string, object>>;
  /** What the user types there. */
  readonly typed: (place: Place) => readonly string[];
  /** More of the folder. */
  readonly prepare?: (cwd: string, place: Place) => Promise<void>;
  readonly env?: Readonly<Record<string, string>>;
}

const tools = (word: string) => () => ["tools", word];
const named = (name: string) => ({
  entries: ({ machine }: Place) => ({ [name]: machine.command }),
  typed: tools(name),
});

/** The file itself is replaced by something else. */
const inPlace = (put: (path: string, cwd: string) => Promise<void>) => ({
  entries: () => ({}),
  typed: tools("fresh"),
  prepare: async (cwd: string) => {
    const path = join(cwd, ".mcp.json");
    await rm(path);
    await put(path, cwd);
  },
});

const doors: readonly (readonly string[])[] = [
  ["call", "fresh", "t"],
  ["call", "fresh", "t", "--detach", "--json"],
  ["doctor", "fresh"],
  ["ping", "fresh"],
  ["resources", "fresh"],
  ["read", "fresh", "a://b"],
  ["prompts", "fresh"],
  ["prompt", "fresh", "p"],
  ["complete", "fresh", "prompt", "p", "a=b"],
  ["login", "remote", "--no-browser"],
  ["logout", "remote"],
  ["get", "01a2", "--server", "fresh"],
  ["ls", "--refresh", "--server", "fresh"],
  [askedByShells, "bash", "holdfast tools fr"],
];

const shapes: readonly Shape[] = [
  { shape: "a command under a new name", ...named("fresh") },
  { shape: "a command under a name of the user's own", ...named("mine") },
  {
    shape: "a command under an address",
    entries: ({ machine, own }) => ({ [own.address]: machine.command }),
    typed: ({ own }) => ["tools", own.address],
  },
  {
    shape: "a command under a URL",
    entries: ({ machine, own }) => ({ [own.url]: machine.command }),
    typed: ({ own }) => ["tools", own.url],
  },
  { shape: "a command under a command line", ...named("node none.mjs") },
  { shape: "a command under a path", ...named("./none.mjs") },
  {
    shape: "a command under a command line after --",
    entries: ({ machine }) => ({ "stdio:none": machine.command, none: machine.command }),
    typed: () => ["tools", "--", "none"],
  },
  { shape: "a command under a name of every object", ...named("__proto__") },
  { shape: "a command under a word of ours", ...named("last") },
  {
    shape: "a command through its variables",
    entries: ({ machine }) => ({
      fresh: { command: "node", args: ["-v"], env: { NODE_OPTIONS: `--import ${machine.home}` } },
    }),
    typed: tools("fresh"),
  },
  {
    shape: "a command in a variable",
    entries: ({ machine }) => ({ fresh: { ...machine.command, command: "${NODE:-node}" } }),
    typed: tools("fresh"),
  },
  { shape: "a URL", entries: ({ url }) => ({ fresh: { url } }), typed: tools("fresh") },
  {
    shape: "a URL under a name of the user's own",
    entries: ({ url }) => ({ mine: { url } }),
    typed: tools("mine"),
  },
  {
    shape: "a URL that asks for a secret in a header",
    entries: ({ url }) => ({ fresh: { url, headers: { "x-key": "${CLOUD_KEY}" } } }),
    typed: tools("fresh"),
  },
  {
    shape: "a URL that asks for a secret in its query",
    entries: ({ url }) => ({ fresh: { url: `${url}?key=\${CLOUD_KEY}` } }),
    typed: tools("fresh"),
  },
  {
    shape: "a URL that asks for our token, and is trusted",
    entries: ({ url }) => ({ fresh: { url, headers: { "x-key": "${HOLDFAST_TOKEN}" } } }),
    typed: () => ["tools", "fresh", "--trust"],
  },
  {
    shape: "both a URL and a command",
    entries: ({ machine, url }) => ({ fresh: { ...machine.command, url } }),
    typed: tools("fresh"),
  },
  { shape: "a name with escape sequences", ...named("fresh\u001b[2K") },
  { shape: "a directory in place of the file", ...inPlace(async (path) => mkdir(path)) },
  {
    shape: "a pipe in place of the file",
    ...inPlace(async (path) => void execFileSync("/usr/bin/env", ["mkfifo", path])),
  },
  { shape: "a device in place of the file", ...inPlace(async (path) => symlink("/dev/zero", path)) },
  { shape: "a file that is no JSON", ...inPlace(async (path) => writeFile(path, "{")) },
  {
    shape: "a link to a file elsewhere",
    ...inPlace(async () => undefined),
    prepare: async (cwd, { machine }) => {
      const elsewhere = await machine.project({ fresh: machine.command });
      await rm(join(cwd, ".mcp.json"));
      await symlink(join(elsewhere, ".mcp.json"), join(cwd, ".mcp.json"));
    },
  },
  {
    shape: "a user's own file in the folder, with relative variables",
    entries: () => ({}),
    typed: tools("fresh"),
    env: { XDG_CONFIG_HOME: "config" },
    prepare: async (cwd, { machine }) => {
      await mkdir(join(cwd, "config", "holdfast"), { recursive: true });
      const text = JSON.stringify({ mcpServers: { fresh: machine.command } });
      await writeFile(join(cwd, "config", "holdfast", "mcp.json"), text);
    },
  },
  {
    shape: "an entry that was trusted in another folder",
    ...named("fresh"),
    prepare: async (_, { machine }) => {
      const other = await machine.project({ fresh: machine.command });
      expect(await machine.run(["trust", "fresh"], other)).toMatchObject({ code: 0 });
    },
  },
  {
    shape: "an entry that changed after it was trusted",
    ...named("fresh"),
    prepare: async (cwd, { machine }) => {
      const path = join(cwd, ".mcp.json");
      const { command } = machine;
      await writeFile(path, JSON.stringify({ mcpServers: { fresh: { ...command, args: ["-v"] } } }));
      expect(await machine.run(["trust", "fresh"], cwd)).toMatchObject({ code: 0 });
      await writeFile(path, JSON.stringify({ mcpServers: { fresh: command } }));
    },
  },
  ...doors.map((words) => ({
    shape: `a command or URL behind \`${words.join(" ")}\``,
    entries: ({ machine, url }: Place) => ({ fresh: machine.command, remote: { url } }),
    typed: () => words,
  })),
];

it.each(shapes)("runs and sends nothing for $shape", async ({ entries, typed, prepare, env }) => {
  const [attacker, own] = [await listener(), await listener()];
  const machine = await usersMachine({ mine: { url: own.url } });
  const place = { machine, url: attacker.url, own };
  const cwd = await machine.project(entries(place));
  await prepare?.(cwd, place);
  const { code } = await machine.run(typed(place), cwd, env);
  if (!typed(place).includes(askedByShells)) expect(code).toBeGreaterThan(0);
  expect({ hasRun: machine.hasRun(), requests: attacker.seen }).toEqual({ hasRun: false, requests: [] });
});

it("reads no file of a folder above", async () => {
  const machine = await usersMachine();
  const cwd = join(await machine.project({ fresh: machine.command }), "below");
  await mkdir(cwd);
  const refused = await machine.run(["tools", "fresh"], cwd);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('no server "fresh"') as string });
});

it("uses addresses, command lines and the user's own names as if the folder had no file", async () => {
  const [attacker, own] = [await listener(), await listener()];
  const machine = await usersMachine({ mine: { url: own.url } });
  const { url } = attacker;
  const cwd = await machine.project({ mine: { url }, [own.address]: { url }, [own.url]: { url } });
  for (const word of ["mine", own.address, own.url]) {
    const before = own.seen.length;
    await machine.run(["tools", word], cwd);
    expect(own.seen.length).toBeGreaterThan(before);
  }
  expect(await machine.run(["tools", "mine"], await folder())).toMatchObject({ code: 6 });
  expect(attacker.seen).toEqual([]);
});
