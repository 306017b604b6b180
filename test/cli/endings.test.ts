import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { EverythingServer } from "../conformance/everything-server.ts";
import { folder, holdfast, root, startHoldfast, type Run } from "./run-cli.ts";
import { Output, reportFailure } from "../../src/cli/output/output.ts";
import { Records } from "../../src/cli/state/records.ts";
import { runMain } from "./run-main.ts";

const parse = ({ stdout }: Run): Record<string, unknown> => JSON.parse(stdout) as Record<string, unknown>;

describe("a command that ends before its task", { timeout: 60_000 }, () => {
  let server: EverythingServer;
  let url: string;
  beforeAll(async () => {
    server = new EverythingServer();
    url = await server.url;
  });
  afterAll(async () => void (await server.stop("SIGKILL")));

  it("by SIGKILL, leaves a handle that yields the result, of work that was done once", async () => {
    const [state, work] = [await folder(), await folder()];
    const env = { HOLDFAST_STATE: state };
    const file = join(work, "lines.txt");
    const running = startHoldfast(["call", url, "append_lines", `path=${file}`, "count=3", "delayMs=300"], {
      env,
    });
    const [, id = ""] = await running.told(/^task (\S+)$/m);
    running.kill("SIGKILL");
    await running.ended;
    expect(parse(await holdfast(["ls", "--json"], { env }))).toMatchObject({
      tasks: [{ id, tool: "append_lines" }],
    });
    expect(await holdfast(["result", id], { env })).toMatchObject({ code: 0, stdout: "done 3\n" });
    expect((await readFile(file, "utf8")).trim().split("\n")).toHaveLength(3);
    expect(parse(await runMain(["ls", "--json"], { env }))).toEqual({ tasks: [] });
  });

  it("by SIGTERM, says how to return, and leaves the task running", async () => {
    const env = { HOLDFAST_STATE: await folder() };
    const running = startHoldfast(["call", url, "never_ends"], { env });
    const [, id = ""] = await running.told(/^task (\S+)$/m);
    running.kill("SIGTERM");
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stdout }).toEqual({ code: 143, stdout: "" });
    expect(stderr).toContain(`holdfast watch ${id}`);
    expect(parse(await runMain(["get", id, "--json"], { env }))).toMatchObject({ status: "working" });
    expect(await runMain(["cancel", id], { env })).toMatchObject({ code: 0 });
  });

  it("and whose reader has gone, ends quietly and keeps the result", async () => {
    const env = { HOLDFAST_STATE: await folder() };
    const running = startHoldfast(["call", url, "big_result", "bytes=3000000"], { env });
    await running.told(/^task (\S+)$/m);
    running.stopReading();
    const { code, stderr } = await running.ended;
    expect(code).toBe(141);
    expect(stderr).toMatch(/^task \S+\n(working(: big_result)?\n)?completed\n$/);
    expect(parse(await runMain(["ls", "--json"], { env }))).toMatchObject({
      tasks: [{ tool: "big_result" }],
    });
  });
});

describe("a server that cannot be reached", { timeout: 60_000 }, () => {
  it("because nothing listens there, or its name is not known", async () => {
    const port = await closedPort();
    const refused = await runMain(["tools", `http://127.0.0.1:${port}/mcp`]);
    expect(refused).toMatchObject({ code: 6, stdout: "" });
    expect(refused.stderr).toMatch(
      /^holdfast: Could not connect to \S+: connect ECONNREFUSED \S+\nNothing is listening/,
    );
    const nameless = await runMain(["tools", "http://no-such-host.invalid/mcp", "--json"]);
    expect(nameless.code).toBe(6);
    expect(parse(nameless)).toMatchObject({ error: { kind: "connection" }, exitCode: 6 });
  });

  it("because it wants a token, which the environment or an option can give", async () => {
    const server = new EverythingServer({ env: { EVERYTHING_TOKENS: "s3cret=ada" } });
    onTestFinished(async () => void (await server.stop("SIGKILL")));
    const url = await server.url;
    const call = ["call", url, "add", "a=1", "b=2"];
    const refused = await runMain(["doctor", url]);
    expect(refused.code).toBe(6);
    expect(refused.stdout).toMatch(/^connection {5}no .*\n.*\n.*holdfast login .*\n.*HOLDFAST_TOKEN/);
    const env = { HOLDFAST_STATE: await folder(), HOLDFAST_TOKEN: "s3cret" };
    expect(await runMain(call, { env })).toMatchObject({ code: 0, stdout: "3\n" });
    const other = { HOLDFAST_STATE: await folder() };
    expect(await runMain([...call, "--token", "s3cret"], { env: other })).toMatchObject({ code: 0 });
    const header = ["--header", "Authorization: Bearer s3cret"];
    expect(await runMain([...call, ...header], { env: other })).toMatchObject({ code: 0 });
    for (const given of [
      ["--header", "X-Key s3cret"],
      ["--header", "X-Key: s3cret\u2028x"],
      ["--token", "s3cret\n"],
    ]) {
      const { code, stdout, stderr } = await runMain([...call, ...given], { env: other });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).not.toContain("s3cret");
    }
  });

  it("because it is no MCP server", async () => {
    const http = createServer((_, response) => response.end("<p>hello</p>")).listen(0, "127.0.0.1");
    await once(http, "listening");
    onTestFinished(() => void http.close());
    const { port } = http.address() as AddressInfo;
    expect(await runMain(["doctor", `http://127.0.0.1:${port}/`])).toMatchObject({ code: 6 });
    const { stderr } = await runMain(["tools", `http://127.0.0.1:${port}/`]);
    expect(stderr).toContain("not as an MCP server. Check the path. Many servers are at http");
  });

  it("because its process ends, which tells what it said; what a terminal would obey is made harmless", async () => {
    const server = `${process.execPath} -e 'console.error("no \\u001b[31mlicence"); process.exit(3)'`;
    const ended = await runMain(["tools", server]);
    expect(ended).toMatchObject({ code: 6, stdout: "" });
    expect(ended.stderr).toContain("The process ended");
    expect(ended.stderr).toContain("no licence");
    expect((await runMain(["tools", "no-such-command --stdio"])).stderr).toContain(
      "The command or the working directory does not exist",
    );
  });
});

it("reports an unusable state folder in one line", async () => {
  const env = { HOLDFAST_STATE: join(root, "package.json") };
  const listed = await runMain(["ls"], { env });
  expect(listed).toMatchObject({ code: 74, stdout: "" });
  expect(listed.stderr).toMatch(/^holdfast: ENOTDIR.*package\.json.*\n$/);
});

it("says in one line that there is no room for the state", async () => {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE records (value TEXT); PRAGMA max_page_count = 2");
  const full = (): void => void database.prepare("INSERT INTO records VALUES (?)").run("x".repeat(10_000));
  const stderr = new PassThrough();
  const output = new Output({ stderr } as never, false);
  const error: unknown = await (async () => full())().catch((reason: unknown) => reason);
  expect(await reportFailure(error, output)).toBe(74);
  expect(String(stderr.read())).toBe(
    "holdfast: The state cannot be kept: database or disk is full. HOLDFAST_STATE names its folder.\n",
  );
});

it("asks for the server of a task if its record is lost", async () => {
  const state = await folder();
  const env = { HOLDFAST_STATE: state };
  const server = `env HOLDFAST_STORE=memory: ${process.execPath} ${root}test/everything/main.ts --stdio`;
  const id = (await runMain(["call", server, "never_ends", "--detach"], { env })).stdout.trim();
  const records = new Records(join(state, "state.db"));
  for (const { name } of records.all("server")) records.remove("server", String(name));
  const { code, stderr } = await runMain(["get", id], { env });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("--server") as string });
});

it("prints the log of a server that ended during a call", { timeout: 60_000 }, async () => {
  const server = join(await folder(), "server.mjs");
  await writeFile(
    server,
    `import { createInterface } from "node:readline";
    createInterface(process.stdin).on("line", (text) => {
      const { id, method } = JSON.parse(text);
      const tools = [{ name: "crash", inputSchema: { type: "object" } }];
      const results = {
        initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "n", version: "1" } },
        "tools/list": { tools },
      };
      if (method === "tools/call") { console.error("disk is full"); process.exit(1); }
      if (id === undefined) return;
      const answer = results[method] === undefined ? { error: { code: -32601, message: "no" } } : { result: results[method] };
      console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });`,
  );
  const env = { HOLDFAST_STATE: await folder() };
  const crashed = await runMain(["call", `${process.execPath} ${server}`, "crash"], { env });
  expect(crashed).toMatchObject({ code: 6, stdout: "" });
  expect(crashed.stderr).toMatch(
    /^holdfast: The server's process \(node\) exited with code 1\nThe end of the server's log:\ndisk is full\nMore about this error:\n {2}holdfast docs connection\n$/,
  );
  // Nothing finds a task of it: the server does not recognise repeats.
  expect((await runMain(["ls"], { env })).stdout).toBe("");
});

it("distinguishes a lost server from one without a tool list", async () => {
  const handshake = `process.stdin.once("data", (text) => { const { id, method } = JSON.parse(text); if (method !== "initialize") process.exit(); process.stdin.on("data", (next) => void (String(next).includes("tools/list") && process.exit())); console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "brief", version: "1" } } })) })`;
  const { code, stderr } = await runMain(["tools", `${process.execPath} -e '${handshake}'`]);
  expect({ code, stderr }).toEqual({
    code: 6,
    stderr:
      "holdfast: The server's process (node) exited with code 0\nMore about this error:\n  holdfast docs connection\n",
  });
});

it("refuses unknown arguments, in text and in JSON", async () => {
  expect(await runMain(["cal"])).toMatchObject({ code: 2, stdout: "" });
  const unknown = await runMain(["ls", "--json", "--nope"]);
  expect(unknown).toMatchObject({ code: 2, stderr: "" });
  expect(parse(unknown)).toMatchObject({ error: { kind: "usage" }, exitCode: 2 });
  // No option, but what a task can be called.
  expect((await runMain(["forget", "-hJ8"])).stderr).toContain('There is no task "-hJ8" on your list');
  expect(await runMain(["--version"])).toMatchObject({ code: 0, stderr: "" });
  expect((await runMain(["call", "--help"])).stdout.replace(/\s+/g, " ")).toContain(
    "other users of this machine can see",
  );
});

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
