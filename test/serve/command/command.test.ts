import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testTasks, type TestOptions } from "holdfast/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { command, type CommandOptions } from "../../../src/serve/command/command.ts";
import { serveTools } from "../../../src/serve/serve-tools.ts";

vi.setConfig({ testTimeout: 15_000 }); // with real processes, on a busy machine

let state: string;

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), "holdfast-serve-"));
  vi.stubEnv("XDG_STATE_HOME", state);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  expect(await readdir(join(state, "holdfast", "calls"))).toEqual([]);
  await rm(state, { recursive: true, force: true, maxRetries: 5 });
});

const text = { type: "string" };

/** A server with one tool, of this command. */
function serving(options: CommandOptions, tested: TestOptions = {}) {
  return testTasks((tasks) => serveTools(tasks, [command("tool", options)]), {
    patienceMs: 10_000,
    settleMs: 10_000,
    ...tested,
  });
}

async function resultOf(options: CommandOptions, args: Record<string, unknown> = {}) {
  await using t = await serving(options);
  return await t.call("tool", args);
}

const shell = (script: string, ...args: CommandOptions["run"]): CommandOptions["run"] => [
  "sh",
  "-c",
  // A placeholder in a script would be shell text.
  script,
  "sh",
  ...args,
];

describe("the arguments of a command", () => {
  const inputSchema = {
    properties: {
      name: text,
      width: { type: "integer" },
      tags: { type: "array", items: text },
      loud: { type: "boolean" },
      size: { type: "string", default: "small" },
    },
  };
  const run = shell(
    'for each; do printf "<%s>" "$each"; done',
    "{name}",
    ["--width", "{width}"],
    "--size={size}",
    "{tags}",
    {
      if: "loud",
      args: ["--loud"],
    },
  );

  it("are arguments of the program and never shell text, and are left out with what belongs to them", async () => {
    const args = { name: "a b; $(touch x) '", width: -3, tags: ["x", "y z"], loud: true };
    expect(await resultOf({ inputSchema, run }, args)).toMatchObject({
      content: [{ text: "<a b; $(touch x) '><--width><-3><--size=small><x><y z><--loud>" }],
    });
    expect(await resultOf({ inputSchema, run }, { name: "a" })).toMatchObject({
      content: [{ text: "<a><--size=small>" }],
    });
  });

  it("are refused where the program would take them for options", async () => {
    expect(await resultOf({ inputSchema, run: ["echo", "{name}"] }, { name: "--version" })).toMatchObject({
      isError: true,
      content: [
        { text: expect.stringMatching(/"name" begins with a hyphen, and echo could take it for an option/) },
      ],
    });
    expect(
      await resultOf({ inputSchema, run: ["echo", "--", "{name}"] }, { name: "--version" }),
    ).toMatchObject({
      content: [{ text: "-- --version" }],
    });
  });

  it("are refused if they are unknown, and go to the standard input as JSON", async () => {
    const options = { inputSchema, run: ["cat"], stdin: "json", output: "json" } as const;
    expect(await resultOf(options, { name: "ä", width: 2 })).toMatchObject({
      structuredContent: { name: "ä", width: 2, size: "small" },
    });
    expect(await resultOf(options, { nam: "x" })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/additional properties/) }],
    });
  });

  it("are named by the placeholders of the command, which are checked", () => {
    const wrong = (options: CommandOptions) => () => command("tool", options);
    expect(wrong({ inputSchema, run: ["echo", "{nmae}"] })).toThrow(
      /\{nmae\} names no argument. Did you mean name\?/,
    );
    expect(wrong({ inputSchema, run: ["{name}"] })).toThrow(/begins with the name or the path of a program/);
    expect(wrong({ inputSchema: { properties: { out: text } }, run: ["echo"] })).toThrow(
      /cannot have the name "out"/,
    );
  });
});

describe("the result of a command", () => {
  it("is an error with what the program said last, or what its exit code means", async () => {
    const failing = { run: shell("echo no such month >&2; exit 3") };
    expect(await resultOf(failing)).toMatchObject({
      isError: true,
      content: [{ text: "sh has ended with exit code 3.\nno such month" }],
    });
    expect(
      await resultOf({ ...failing, exitCodes: { 3: "There is no data for this month." } }),
    ).toMatchObject({
      isError: true,
      content: [{ text: "There is no data for this month." }],
    });
    expect(await resultOf({ ...failing, exitCodes: { 3: "success" } })).not.toHaveProperty("isError");
    expect(await resultOf({ run: ["no-such-program-here"] })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^no-such-program-here was not found/) }],
    });
    expect(await resultOf({ run: ["echo", "no JSON"], output: "json" })).toMatchObject({ isError: true });
  });

  it("has the files of its folder as links to artifacts", async () => {
    await using t = await serving({
      run: shell('mkdir "$1/a"; printf 1,2 > "$1/a/rows.csv"; echo done', "{out}"),
    });
    const result = await t.call("tool");
    expect(result.content).toMatchObject([
      { type: "text", text: "done" },
      { type: "resource_link", name: "a-rows.csv", mimeType: "text/csv", size: 3 },
    ]);
  });
});

it("has all files of a command, whatever their names are", async () => {
  const names = [
    "run",
    "folder",
    "collect",
    "approval",
    "a-b",
    "a/b",
    "a-b-2",
    '["ask","go"]',
    "x.txt",
    "x\\\ty",
  ];
  const script = `cd "$1"; shift; mkdir a; for each; do printf 1 > "$each"; done; printf 1 > ${"n".repeat(240)}.csv`;
  await using t = await serving({
    run: ["bash", "-c", script, "bash", "{out}", ...names],
    approval: { by: "user" },
  });
  t.answers({ approval: { action: "accept", content: { approve: true } } });
  const { content } = await t.call("tool");
  const links = content.filter(({ type }) => type === "resource_link") as readonly {
    name: string;
    size: number;
  }[];
  expect(links).toHaveLength(names.length + 1);
  expect(links.every(({ size }) => size === 1)).toBe(true);
  const found = links.map(({ name }) => name);
  expect(new Set(found).size).toBe(links.length);
  expect(found).toEqual(expect.arrayContaining(["run", "folder", "collect", "a-b", "x.txt", "x--y"]));
});

it("has only what the last try of a command has made", async () => {
  const ran = join(state, "ran");
  await rm(ran, { force: true });
  const script = `
    if [ -e ${ran} ]; then echo well; printf 12 > "$1/second"; exit; fi
    touch ${ran}; printf '{"result":"half"}\n{"progr' >&3; mkdir "$1/a"; printf 1 > "$1/a/first"; exit 75`;
  await using t = await serving({ run: shell(script, "{out}"), exitCodes: { 75: "retry" } });
  const task = await t.start("tool");
  await t.clock.advance("1s");
  const result = await task.result();
  expect(result.content).toMatchObject([{ type: "text", text: "well" }, { name: "second" }]);
});

describe("what a program writes to file descriptor 3", () => {
  it("is progress, status, log, output and a result", async () => {
    const lines = [
      { progress: 1, total: 2, message: "half" },
      { log: "looked", level: "notice", data: { at: 1 } },
      { output: "first words" },
      { result: { rows: 3 } },
    ];
    const script = lines.map((line) => `echo '${JSON.stringify(line)}' >&3`).join("\n");
    await using t = await serving({ run: shell(`echo noise; ${script}; echo not JSON >&3`) });
    const task = await t.start("tool");
    expect(await task.result()).toMatchObject({ structuredContent: { rows: 3 } });
    const logs = await task.logs();
    for (const line of [
      { level: "info", text: "noise" },
      { level: "notice", text: "looked", data: { at: 1 } },
      { level: "warning", text: expect.stringMatching(/no JSON object: not JSON/) },
    ])
      expect(logs).toContainEqual(expect.objectContaining(line));
    expect(await task.output()).toMatchObject([{ content: { text: "first words" } }]);
  });

  it("can be a question, whose answer it reads from file descriptor 4", async () => {
    const ask = JSON.stringify({
      ask: "sure",
      message: "Really?",
      schema: { properties: { sure: { type: "boolean" } }, required: ["sure"] },
    });
    await using t = await serving({ run: shell(`echo '${ask}' >&3; read -r answer <&4; echo "$answer"`) });
    t.answers({ '["ask","sure"]': { action: "accept", content: { sure: true } } });
    expect(await t.call("tool")).toMatchObject({
      content: [{ text: '{"ask":"sure","action":"accept","content":{"sure":true}}' }],
    });
  });
});

it("goes on with its program after a crash of the server: it runs once, and gets its answer once", async () => {
  const counted = join(state, "runs");
  const ask = JSON.stringify({ ask: "go", message: "Go on?" });
  const script = `echo run >> ${counted}; echo '${ask}' >&3; read -r answer <&4; read -r -t 1 more <&4; echo "$answer$more"; cat ${counted}`;
  await using t = await serving({ run: ["bash", "-c", script] });
  t.answers({ '["ask","go"]': { action: "accept", content: {} } });
  const crashed = t.crash({ after: ["ask", "go"] });
  const task = await t.start("tool");
  await crashed;
  await t.restart();
  expect(await task.result()).toMatchObject({
    content: [{ text: '{"ask":"go","action":"accept","content":{}}\nrun' }],
  });
});

it("says what a call would run, and whether the program is there", async () => {
  const inputSchema = { properties: { month: text } };
  const source = command("tool", {
    inputSchema,
    run: ["sh", "-c", "echo 'it''s'", "{month}"],
    stdin: "json",
  });
  expect(await source.check?.()).toMatchObject([{ works: true, detail: expect.stringMatching(/\/sh$/) }]);
  await writeFile(join(state, "script"), "");
  const away = command("tool", { run: [join(state, "script")] });
  expect(await away.check?.()).toMatchObject([{ works: false }]);
  await using _ = await testTasks(async (tasks) => {
    const served = await serveTools(tasks, [source]);
    const preview = await served.tools[0]?.preview?.({ month: "2026 10" });
    expect(preview).toBe(
      `sh -c 'echo '\\''it'\\'''\\''s'\\''' '2026 10'\nwith this input: {"month":"2026 10"}\n`,
    );
  });
});
