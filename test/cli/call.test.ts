import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EverythingServer } from "../conformance/everything-server.ts";
import { folder, holdfast, root, type Run, type RunOptions } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const deadline = 60_000;

describe("holdfast call", { timeout: deadline }, () => {
  let server: EverythingServer;
  let url: string;
  beforeAll(async () => {
    server = new EverythingServer();
    url = await server.url;
  });
  afterAll(async () => void (await server.stop("SIGKILL")));

  const run = async (args: readonly string[], options: RunOptions = {}): Promise<Run> =>
    runMain(args, { ...options, env: { HOLDFAST_STATE: await folder() } });

  it("prints a task's text on stdout, and its states on stderr", async () => {
    const words = ["call", url, "slow_compute", "seconds=0", "label=soon"];
    const { code, stdout, stderr } = await holdfast(words, { env: { HOLDFAST_STATE: await folder() } });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "soon: computed for 0 s\n" });
    expect(stderr).toMatch(/^task \S+\n(working(: slow_compute)?\n)?completed\n$/);
  });

  it("prints the result of a call that is answered directly", async () => {
    expect(await run(["call", url, "greet", "name=Ada"])).toEqual({
      code: 0,
      stdout: "Hello, Ada!\n",
      stderr: "",
    });
  });

  it("distinguishes an error result from a JSON-RPC error", async () => {
    const failing = await run(["call", url, "failing_job"]);
    expect(failing).toMatchObject({ code: 1, stdout: "The job failed, as it always does.\n" });
    const protocol = await run(["call", url, "protocol_error_job"]);
    expect(protocol).toMatchObject({ code: 3, stdout: "" });
    expect(protocol.stderr).toContain("deliberate failure (4001)");
  });

  it.each([
    [["add", "a=1"], /Missing: b\. It takes a \(number, required\), b \(number, required\)/],
    [["add", "a=1", "b=two"], /b must be a number, not "two"/],
    [["add", "a=1", "b=2", "c=3"], /no argument "c"/],
    [["add", "a=1", "b=2", "c:=3"], /no argument "c"/],
    [["add", "a=1", "--args", '{ "b": "2" }'], /b must be a number, not "2"/],
    [["add", "a=1", "b=9007199254740993"], /9007199254740993 is too long/],
    [["ad", "a=1"], /no tool "ad"\. Did you mean "add"\? It has .*\badd\b/],
    [["add", "a:=1", "--args", "[]"], /--args must be a JSON object/],
  ])("refuses %j before it sends", async (words, message) => {
    const { code, stdout, stderr } = await run(["call", url, ...words]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });

  it("merges --args, from stdin and from a file too, with what is given by key", async () => {
    const cwd = await folder();
    await writeFile(join(cwd, "args.json"), '{ "a": 40 }');
    const fromFile = await run(["call", url, "add", "b=2", "--args", "@args.json"], { cwd });
    const fromStdin = await run(["call", url, "add", "b=3", "--args", "-"], {
      input: '{ "a": 1, "b": 1 }',
    });
    expect([fromFile.stdout, fromStdin.stdout]).toEqual(["42\n", "4\n"]);
  });

  it("prints one JSON document with --json, and nothing else", async () => {
    const { code, stdout, stderr } = await run(["call", url, "add", "a=1", "b=2", "--json"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      server: url,
      tool: "add",
      status: "completed",
      result: { content: [{ type: "text", text: "3" }] },
    });
  });

  it("starts a server that is a command line, quoted or after --", async () => {
    const env = { HOLDFAST_STORE: "memory:", HOLDFAST_STATE: await folder() };
    const passes = ["--pass-env", "HOLDFAST_STORE"];
    const line = "node test/everything/main.ts --stdio";
    const quoted = await holdfast(["call", line, "greet", "name=Ada", ...passes], { env });
    expect(quoted).toEqual({ code: 0, stdout: "Hello, Ada!\n", stderr: "" });
    const words = ["node", `${root}test/everything/main.ts`, "--stdio"];
    const after = await holdfast(["call", "add", "a=1", "b=2", ...passes, "--", ...words], { env });
    expect(after).toMatchObject({ code: 0, stdout: "3\n" });
  });
});
