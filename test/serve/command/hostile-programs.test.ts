import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testTasks } from "holdfast/testing";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { command, type CommandOptions } from "../../../src/serve/command/command.ts";
import { serveTools } from "../../../src/serve/serve-tools.ts";

vi.setConfig({ testTimeout: 30_000 }); // with real processes, on a busy machine

let state: string;

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), "holdfast-hostile-"));
  vi.stubEnv("XDG_STATE_HOME", state);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(state, { recursive: true, force: true, maxRetries: 5 });
});

/** The result of one call of a tool with this command. */
async function resultOf(options: CommandOptions, args: Record<string, unknown> = {}) {
  await using t = await testTasks((tasks) => serveTools(tasks, [command("tool", options)]), {
    patienceMs: 20_000,
    settleMs: 20_000,
  });
  const { content, isError } = await t.call("tool", args);
  const [first] = content;
  return { text: first?.type === "text" ? first.text : "", isError };
}

const script = (text: string): CommandOptions["run"] => ["bash", "-c", text];

it("has the beginning and the end of what a program prints, if that is 100 MB", async () => {
  const { text, isError } = await resultOf({
    run: script("echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last"),
  });
  expect(isError).toBeUndefined();
  expect(text.length).toBeLessThan(300_000);
  expect([text.slice(0, 5), text.slice(-4)]).toEqual(["first", "last"]);
});

it("ends with a program that never reads its standard input", async () => {
  const inputSchema = { properties: { words: { type: "string" } } };
  const options = { inputSchema, run: ["echo", "done"], stdin: "json" };
  expect(await resultOf(options, { words: "x".repeat(500_000) })).toMatchObject({ text: "done" });
});

it("ends with its program, and ends a child of it that keeps its output open", async () => {
  const { text } = await resultOf({ run: script("sleep 600 & echo $!") });
  expect(text).toMatch(/^\d+$/);
  await vi.waitUntil(() => !isAlive(Number(text)), 10_000);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

it("says which signal a program was ended by", async () => {
  expect(await resultOf({ run: script("echo half; kill -KILL $$") })).toEqual({
    isError: true,
    text: "bash has ended with exit code 137, which stands for SIGKILL.\nhalf",
  });
});

it("gives no argument with a NUL character to a program", async () => {
  const inputSchema = { properties: { word: { type: "string" } } };
  const refused = { isError: true, text: expect.stringMatching(/has a NUL character, which no program/) };
  const word = "a\0b";
  expect(await resultOf({ inputSchema, run: ["echo", "--", "{word}"] }, { word })).toEqual(refused);
  expect(await resultOf({ inputSchema, run: ["env"], env: { WORD: "{word}" } }, { word })).toEqual(refused);
});

it("goes on whatever nonsense comes on file descriptor 3, and asks nobody what no client can show", async () => {
  const lines = [
    '{"progress":1e999}',
    '{"progress":-1,"total":-5,"message":"\\ud800"}',
    '{"status":"\\ud800\\u0000"}',
    '{"log":"\\ud800\\u0000","level":"loud","data":"\\u0000"}',
    '{"output":"\\ud800\\u0000"}',
    '{"ask":"x","schema":{"properties":{"a":{"type":"nonsense"}}}}',
    '{"result":',
    "[]",
    "null",
  ];
  const written = lines.map((line) => `printf '%s\\n' '${line}' >&3`).join("\n");
  const long = "head -c 3000000 /dev/zero | tr '\\0' x >&3; echo >&3";
  const many = `for each in $(seq 1 5000); do echo '{"status":"'$each'"}'; done >&3`;
  const { text } = await resultOf({
    run: script(`${written}\n${long}\n${many}\nread -r answer <&4; echo "$answer"`),
  });
  expect(JSON.parse(text)).toMatchObject({
    action: "cancel",
    error: expect.stringMatching(/^Nobody can be asked with this schema/),
  });
});
