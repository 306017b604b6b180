import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { EverythingServer } from "../conformance/everything-server.ts";
import { script } from "../interop/our-client-everything.ts";
import { folder, holdfast, type Run } from "./run-cli.ts";
import { runMain } from "./run-main.ts";
import { hostile } from "./terminal/asking-server.ts";
import { keys, Pty } from "./terminal/pty.ts";

const parse = ({ stdout }: Run): Record<string, unknown> => JSON.parse(stdout) as Record<string, unknown>;

/** One red pixel. */
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
  "base64",
);

describe("a server of Holdfast", { timeout: 60_000 }, () => {
  let server: EverythingServer;
  let url: string;
  beforeAll(async () => {
    server = new EverythingServer();
    url = await server.url;
  });
  afterAll(async () => void (await server.stop("SIGKILL")));

  it("lists resources and templates, as rows for programs and tables for people", async () => {
    const { code, stdout, stderr } = await runMain(["resources", url]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("test://static-text\ttext/plain\tstatic-text: A text that never changes\n");
    expect(stdout).toContain("test://template/{id}/data\tapplication/json\ttemplate-data");
    const shown = await runMain(["resources", url], { columns: 60 });
    expect(shown.stdout).toMatch(
      /^RESOURCE +TYPE +ABOUT\ntest:\/\/static-text +text\/plain +static-text.*…\n/,
    );
    expect(shown.stdout).toMatch(/\n\nTEMPLATE +TYPE +ABOUT\ntest:\/\/template\/\{id\}\/data +/);
    const document = parse(await runMain(["resources", url, "--json"]));
    expect(document).toMatchObject({
      server: { name: "everything" },
      resources: [{ uri: "test://static-text", mimeType: "text/plain" }, { uri: "test://static-binary" }],
      resourceTemplates: [{ uriTemplate: "test://template/{id}/data" }, {}, {}, {}, {}],
    });
  });

  it("prints a text: as it is for a program, with a line break on a terminal", async () => {
    const text = "This is the content of the static text resource.";
    expect(await runMain(["read", url, "test://static-text"])).toEqual({ code: 0, stdout: text, stderr: "" });
    expect((await runMain(["read", url, "test://static-text"], { columns: 80 })).stdout).toBe(`${text}\n`);
    const document = parse(await runMain(["read", url, "test://template/7/data", "--json"]));
    expect(document).toMatchObject({
      server: url,
      uri: "test://template/7/data",
      result: { contents: [{}] },
    });
  });

  it("writes bytes to a pipe, and none to a terminal", async () => {
    const run = await holdfast(["read", url, "test://static-binary", "--save", await folder()]);
    expect(run).toMatchObject({ code: 0, stderr: "" });
    const [, path = ""] = /^saved (.*) \(image\/png, 69 bytes\)\n$/.exec(run.stdout) ?? [];
    expect(await readFile(path)).toEqual(png);
    const piped = await holdfast(["read", url, "test://static-binary"]);
    expect(piped.stdout).toBe(png.toString("utf8"));
    const refused = await runMain(["read", url, "test://static-binary"], { columns: 80 });
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(
      /image\/png of 69 bytes, which is not written to a terminal: use --save DIR/,
    );
  });

  it("says what a server answers to an unknown URI", async () => {
    const { code, stdout, stderr } = await runMain(["read", url, "test://nothing"]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain("test://nothing (-32602)");
  });

  it("lists prompts, and fills one in, from files too", async () => {
    const listed = await runMain(["prompts", url]);
    expect(listed.stdout).toContain(
      "test_prompt_with_arguments  A prompt with two arguments\n    arg1  First test argument\n",
    );
    expect(parse(await runMain(["prompts", url, "--json"]))).toMatchObject({
      prompts: expect.arrayContaining([
        { name: "test_simple_prompt", description: expect.any(String) as string },
      ]) as object,
    });
    const cwd = await folder();
    await writeFile(join(cwd, "note.txt"), "from a file");
    const words = ["prompt", url, "test_prompt_with_arguments", "arg1=@note.txt", "arg2=@@ann"];
    expect(await runMain(words, { cwd })).toEqual({
      code: 0,
      stdout: "Prompt with arguments: arg1='from a file', arg2='@ann'\n",
      stderr: "",
    });
    expect((await runMain(["prompt", url, "test_prompt_with_image"])).stdout).toBe(
      "user:\n[image image/png, 69 bytes]\n\nuser:\nPlease analyze the image above.\n",
    );
    expect(parse(await runMain(["prompt", url, "test_simple_prompt", "--json"]))).toMatchObject({
      prompt: "test_simple_prompt",
      result: { messages: [{ role: "user" }] },
    });
  });

  it.each([
    [["test_prompt_with_arguments", "arg1=a"], /Missing: arg2/],
    [["test_prompt_with_arguments", "arg1=a", "arg3=b"], /no argument "arg3"/],
    [["test_simple_promt"], /no prompt "test_simple_promt"\. Did you mean "test_simple_prompt"\?/],
  ])("refuses the prompt %j", async (words, message) => {
    const { code, stdout, stderr } = await runMain(["prompt", url, ...words]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });

  it("asks on the terminal what a prompt asks", async () => {
    const pty = await Pty.holdfast(["prompt", url, "test_input_required_result_prompt"]);
    await pty.sees(/What context should the prompt use\?/);
    await pty.sees(/◆ {2}context/);
    pty.type("the tests", keys.enter);
    await pty.sees(/Send this\?\n.*the tests/);
    pty.type(keys.enter);
    await pty.sees(/^Use this context: the tests$/m);
    expect(await pty.ends()).toBe(0);
  });

  it("completes an argument", async () => {
    const words = ["complete", url, "prompt", "test_prompt_with_arguments", "arg1=te"];
    expect(await runMain(words)).toEqual({ code: 0, stdout: "test\ntesting\n", stderr: "" });
    expect(parse(await runMain([...words, "--json"]))).toMatchObject({
      values: ["test", "testing"],
      hasMore: false,
    });
    expect(await runMain(["complete", url, "prompt", "nothing", "x="])).toMatchObject({
      code: 3,
      stdout: "",
    });
    expect(await runMain(["complete", url, "tool", "x", "y="])).toMatchObject({ code: 2, stdout: "" });
  });

  it("answers a ping, in the revision that has none", async () => {
    const { code, stdout } = await runMain(["ping", url]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^everything 1\.0\.0 answers in \d+ ms, over MCP 2026-07-28\nconnecting took \d+ ms\n$/,
    );
    expect(await runMain(["ping", "http://127.0.0.1:1/mcp"])).toMatchObject({ code: 6, stdout: "" });
  });
});

it(
  "the reference everything server: has resources, prompts, completions and a ping",
  { timeout: 120_000 },
  async () => {
    const dashes = ["--", process.execPath, script, "stdio"];
    const listed = await runMain(["resources", ...dashes]);
    expect(listed.stdout).toContain("demo://resource/static/document/features.md\ttext/markdown\t");
    const blob = await runMain(["read", "demo://resource/dynamic/blob/1", "--save", ".", ...dashes], {
      cwd: await folder(),
    });
    expect(blob.stdout).toMatch(/^saved 1\.txt \(text\/plain, \d+ bytes\)\n$/);
    const prompted = await runMain(["prompt", "args-prompt", "city=Ulm", ...dashes]);
    expect(prompted).toMatchObject({ code: 0, stdout: "What's weather in Ulm?\n" });
    const words = ["complete", "prompt", "completable-prompt", "department=Engineering", "name=A"];
    expect(await runMain([...words, ...dashes])).toMatchObject({ code: 0, stdout: "Alice\n" });
    expect((await runMain(["ping", ...dashes])).stdout).toContain("over MCP 2025-11-25");
  },
);

it("lists all pages, in lines that own no terminal", { timeout: 60_000 }, async () => {
  const tasks = createTasks({ store: memoryStore() });
  const pages = 70; // more than the SDK's client walks by itself
  const server = tasks.server(() => {
    const mcp = new McpServer({ name: "pages", version: "1.0.0" }, { capabilities: { prompts: {} } });
    mcp.server.setRequestHandler("prompts/list", ({ params }) => {
      const page = Number(params?.cursor ?? 0);
      const next = page + 1 < pages ? { nextCursor: String(page + 1) } : {};
      return { prompts: [{ name: `p${page}`, description: hostile }], ...next };
    });
    return mcp;
  });
  const http = await serveHttp(server, { port: 0, anonymous: "shared" });
  onTestFinished(async () => http.close());
  const { stdout } = await runMain(["prompts", http.url], { columns: 80 });
  expect(stdout.match(/^p\d+  /gm)).toHaveLength(pages);
  expect(stdout).not.toMatch(/(?!\n)\p{C}/u);
  expect(await runMain(["resources", http.url])).toMatchObject({
    code: 0,
    stdout: "",
    stderr: "holdfast: the server has no resources\n",
  });
});

it("prints resources and prompts whose parts lack what they should have, and what comes after them", async () => {
  const serving = `
    const answers = {
      initialize: { protocolVersion: "2025-06-18", capabilities: { prompts: {}, resources: {} }, serverInfo: { name: "odd", version: "1" } },
      "resources/read": { contents: [null, { uri: "x:a", blob: 5 }, { uri: "x:a", text: "AFTER" }] },
      "prompts/list": { prompts: [{ name: "p" }] },
      "prompts/get": { messages: [null, { role: 5, content: { type: "text", text: "AFTER" } }] },
    };
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      const answer = answers[method] ? { result: answers[method] } : { error: { code: -32601, message: "unknown" } };
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });`;
  const server = ["--", process.execPath, "-e", serving];
  const read = await runMain(["read", "x:a", ...server]);
  expect(read).toMatchObject({
    code: 0,
    stdout:
      '[unknown content: {"type":"resource","resource":null}]\n[unknown content: {"type":"resource","resource":{"uri":"x:a","blob":5}}]\nAFTER\n',
  });
  const prompt = await runMain(["prompt", "p", ...server]);
  expect(prompt).toMatchObject({ code: 0, stdout: "unknown:\n[unknown content: null]\n\nunknown:\nAFTER\n" });
});
