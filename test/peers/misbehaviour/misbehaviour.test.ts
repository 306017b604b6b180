import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { connect, TaskClientError } from "../../../src/client.ts";
import { runMain } from "../../cli/run-main.ts";
import { faultyHttp } from "./faulty-server.ts";
import { misbehaviours, type Misbehaviour } from "./misbehaviours.ts";
import { outcomeOf, outcomes, type Ended } from "./outcomes.ts";

const program = fileURLToPath(new URL("./faulty-server.ts", import.meta.url));

const state = await mkdtemp(join(tmpdir(), "holdfast-misbehaviour-"));
afterAll(() => rm(state, { recursive: true, force: true }));

/** What the library says: the problems of a list or the error; undefined if all went well. */
async function library(
  server: Parameters<typeof connect>[0],
  { method }: Misbehaviour,
): Promise<string | undefined> {
  const closing: (() => Promise<void>)[] = [];
  try {
    const client = await connect(server, { probeTimeoutMs: 5_000 });
    closing.push(async () => client.close());
    if (method !== "tools/list") await client.callTool("t", {}, { unreachableTimeoutMs: 500 });
    const { problems } = await client.listTools();
    return problems.length === 0 ? undefined : problems.join("; ");
  } catch (error) {
    if (!(error instanceof TaskClientError)) throw error;
    return error.message;
  } finally {
    for (const close of closing) await close();
  }
}

/** The same of the command line. */
async function commandLine(
  words: readonly string[],
  { method }: Misbehaviour,
  behind: readonly string[] = [],
): Promise<string | undefined> {
  const command = method === "tools/list" ? ["tools", ...words] : ["call", ...words, "t"];
  const { code, stdout, stderr } = await runMain([...command, "--timeout", "8", ...behind], {
    env: { HOLDFAST_STATE: state },
  });
  if (code === 70 || code === 7) throw new Error(`exit code ${code}: ${stdout}${stderr}`);
  return code === 0 && stderr === "" ? undefined : stderr;
}

const rows = misbehaviours.flatMap((fault, number) => {
  const stdio = { command: process.execPath, args: [program, String(number)], stderr: "ignore" as const };
  const behind = ["--", stdio.command, ...stdio.args];
  const http = async (run: (url: string) => Promise<string | undefined>): Promise<string | undefined> => {
    await using server = await faultyHttp(fault);
    return await run(server.url);
  };
  return [
    { fault, who: "library, stdio", run: async () => library(stdio, fault) },
    { fault, who: "library, HTTP", run: async () => http(async (url) => library(url, fault)) },
    { fault, who: "command line, stdio", run: async () => commandLine([], fault, behind) },
    { fault, who: "command line, HTTP", run: async () => http(async (url) => commandLine([url], fault)) },
  ];
});

it("has at least 120 rows", () => {
  expect(rows.length).toBeGreaterThanOrEqual(120);
});

it("tells what clients make of a fault apart, for docs/reference/compatibility.md", () => {
  const fault = misbehaviours.find(({ name }) => name === "tools/list: a tool without name");
  const seen = (code: number | null, stdout: string, stderr = ""): Ended => ({ code, stdout, stderr });
  const runs: readonly Ended[] = [
    seen(0, '{"tools":[{"name":"t"}]}', "tool 1: name is missing"),
    seen(1, "", "tool 1: name is missing"),
    seen(1, "", String.raw`{"error":"[{\"code\": \"invalid_type\", \"path\": [\"tools\", 0, \"name\"]}]"}`),
    seen(1, "", "Connection closed"),
    seen(0, '{"tools":[]}'),
    seen(1, "", "TypeError: undefined\n    at list (client.js:1:1)"),
    seen(null, ""),
  ];
  expect(runs.map((run) => fault && outcomeOf(run, fault))).toEqual(outcomes);
});

describe.concurrent("a server that misbehaves", () => {
  it.for(rows)("$fault.name ($who)", { timeout: 60_000 }, async ({ fault: { expected }, run }) => {
    const said = await run();
    if (expected === "works") expect(said).toBeUndefined();
    else expect(said).toMatch(expected);
    expect(said ?? "").not.toMatch(/^\s+at \S+ \(|"invalid_type"|ZodError/m);
  });
});
