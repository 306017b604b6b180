import { existsSync } from "node:fs";
import { chmod, mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { Records } from "../../src/cli/state/records.ts";
import { OpenSessions, SessionTransport, type OpenSession } from "../../src/cli/session/open-sessions.ts";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { serveSessions } from "../sdk-v1/http.ts";
import { folder, program as holdfast, root, type Run } from "./run-cli.ts";
import { runMain } from "./run-main.ts";
import { keys, Pty } from "./terminal/pty.ts";

/** A server with a memory, as browsers and debuggers have: it counts its calls, and says who it is. */
const counter = `
let count = 0;
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "server/discover" && process.argv[1] === "exits") process.exit(3);
  if (method === "initialize")
    answer(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "c", version: "1" } });
  else if (method === "tools/list") answer(id, { tools: [{ name: "count", inputSchema: { type: "object" } }] });
  else if (method === "tools/call" && process.argv[1] === "asks" && count === 0) {
    count = 1;
    console.log(JSON.stringify({ jsonrpc: "2.0", id: "q", method: "ping" }));
    answer(id, { content: [{ type: "text", text: "asked" }] });
  } else if (method === "tools/call") answer(id, { content: [{ type: "text", text: process.pid + " " + ++count }] });
  else if (id !== undefined && method !== undefined)
    console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no " + method } }));
});
`;

async function user(more: Readonly<Record<string, string>> = {}) {
  const state = await folder();
  const env = { HOLDFAST_STATE: state, ...more };
  const run = async (...args: string[]): Promise<Run> => runMain(args, { env });
  onTestFinished(async () => {
    for (const { name } of new Records(join(state, "state.db")).all("session"))
      await run("close", String(name));
  });
  const session = (name: string) =>
    new Records(join(state, "state.db")).get("session", name) as unknown as OpenSession | undefined;
  return { run, session, state };
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it("keeps a server's process between commands, until it is closed", { timeout: 60_000 }, async () => {
  const { run, session } = await user();
  const command = ["--", process.execPath, "-e", counter];
  const opened = await run("open", "@page", "--json", ...command);
  expect(opened).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(opened.stdout)).toMatchObject({ name: "@page", protocolVersion: "2025-11-25" });
  const first = await run("call", "@page", "count");
  expect(first).toMatchObject({ code: 0, stderr: "" });
  const second = await run("@page", "call", "count");
  const [pid] = first.stdout.split(" ").map(Number);
  expect([first.stdout, second.stdout]).toEqual([`${pid} 1\n`, `${pid} 2\n`]);
  // Both at the same time get answers of their own.
  const both = await Promise.all([run("@page", "call", "count"), run("@page", "call", "count")]);
  expect(both.map(({ stdout }) => stdout).toSorted()).toEqual([`${pid} 3\n`, `${pid} 4\n`]);
  expect(await run("open", "@page", ...command)).toMatchObject({ code: 2 });
  const { address } = session("@page") ?? {};
  expect((await stat(address?.socket ?? "")).mode & 0o777).toBe(0o600);
  expect((await stat(join(address?.socket ?? "", ".."))).mode & 0o777).toBe(0o700);
  expect((await run("servers")).stdout).toMatch(/^@page\t/m);
  expect(await run("@page", "close")).toMatchObject({ code: 0 });
  expect(isAlive(pid ?? 0)).toBe(false);
  expect(existsSync(join(address?.socket ?? "", ".."))).toBe(false);
  expect(await run("@page", "call", "count")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("There is no open session @page; open are: none") as string,
  });
});

it(
  "answers from another command the task of a call that waits, at a server with its tasks in memory",
  { timeout: 60_000 },
  async () => {
    const { run } = await user({ HOLDFAST_STORE: "memory:" });
    const server = [process.execPath, `${root}test/everything/main.ts`, "--stdio"];
    expect(await run("open", "@tasks", "--pass-env", "HOLDFAST_STORE", "--", ...server)).toMatchObject({
      code: 0,
    });
    const waiting = run("@tasks", "call", "confirm_delete", "filename=a.txt");
    const asked = async (): Promise<string | undefined> => {
      const { tasks } = JSON.parse((await run("ls", "--refresh", "--json")).stdout) as {
        tasks: { id: string; status: string }[];
      };
      return tasks.find(({ status }) => status === "input_required")?.id;
    };
    const id = (await vi.waitUntil(asked, { timeout: 30_000, interval: 200 })) ?? "";
    expect(await run("answer", id, "confirm=true")).toMatchObject({ code: 0 });
    expect(await waiting).toMatchObject({ code: 0, stdout: "Would delete a.txt.\n" });
  },
);

it(
  "keeps the session of a server over HTTP between commands, until it is closed",
  { timeout: 60_000 },
  async () => {
    const { run } = await user();
    const sessions: string[] = [];
    const http = await serveSessions(
      () => {
        let count = 0;
        const mcp = new McpServer({ name: "counts", version: "1.0.0" });
        mcp.registerTool("count", {}, () => ({ content: [{ type: "text", text: String(++count) }] }));
        return mcp;
      },
      (id) => sessions.push(id),
    );
    onTestFinished(async () => http.close());
    expect(await run("open", http.url.href, "@web")).toMatchObject({ code: 0 });
    const counts = [await run("@web", "call", "count"), await run("call", "@web", "count")];
    expect(counts.map(({ stdout }) => stdout)).toEqual(["1\n", "2\n"]);
    expect(sessions).toHaveLength(1);
    expect(await run("close", "@web")).toMatchObject({ code: 0 });
    expect((await run("call", http.url.href, "count")).stdout).toBe("1\n");
  },
);

it("runs the lines of a pipe in a session", { timeout: 60_000 }, async () => {
  const { run, state } = await user();
  await run("open", "@lines", "--", process.execPath, "-e", counter);
  const input = `call count\n\ntools\n${"tools none\n".repeat(11)}exit\ncall count\n`;
  const env = { HOLDFAST_STATE: state };
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  const piped = await runMain(["@lines"], { env, input });
  process.off("warning", note);
  expect(piped.stdout).toMatch(/^\d+ 1\ncount\n$/);
  expect(warnings).toEqual([]);
  expect((await run("@lines", "call", "count")).stdout).toMatch(/ 2\n$/);
});

it("has at its prompt what was typed before", { timeout: 60_000 }, async () => {
  const { run, state } = await user();
  await run("open", "@page", "--", process.execPath, "-e", counter);
  const pty = await Pty.holdfast(["@page"], { state });
  await pty.sees(/^@page>/m);
  pty.type("call count", keys.enter);
  await pty.sees(/^\d+ 1\n@page>/m);
  pty.type(keys.up, keys.enter);
  await pty.sees(/^\d+ 2\n@page>/m);
  pty.type("exit", keys.enter);
  expect(await pty.ends()).toBe(0);
});

it(
  "tries the earlier protocol with a server that ends on the question for the latest",
  { timeout: 60_000 },
  async () => {
    const { run } = await user();
    expect(await run("open", "@old", "--", process.execPath, "-e", counter, "exits")).toMatchObject({
      code: 0,
    });
    expect((await run("@old", "call", "count")).stdout).toMatch(/^\d+ 1\n$/);
  },
);

it("ends after its idle time, and with the server, and says so", { timeout: 60_000 }, async () => {
  const { run, session } = await user();
  const command = ["--", process.execPath, "-e", counter];
  await run("open", "@short", "--idle", "0.2", ...command);
  await vi.waitUntil(() => session("@short") === undefined, { timeout: 30_000 });
  expect(await run("@short", "call", "count")).toMatchObject({ code: 2 });
  await run("open", "@killed", ...command);
  const { stdout } = await run("@killed", "call", "count");
  process.kill(Number(stdout.split(" ")[0]), "SIGKILL");
  await vi.waitUntil(() => session("@killed") === undefined, { timeout: 30_000 });
});

it.runIf(process.platform === "linux")(
  "ends with the terminal in which it was opened",
  { timeout: 60_000 },
  async () => {
    const { run, session, state } = await user();
    const pty = await Pty.holdfast(["open", "@page", "--", process.execPath, "-e", counter], { state });
    expect(await pty.ends()).toBe(0);
    const [pid] = (await run("@page", "call", "count")).stdout.split(" ").map(Number);
    expect(isAlive(pid ?? 0)).toBe(true);
    pty.type(keys.enter); // for which the shell of the terminal waits
    await vi.waitUntil(() => session("@page") === undefined, { timeout: 30_000 });
    expect(isAlive(pid ?? 0)).toBe(false);
  },
);

it.each([
  [
    "is open to others",
    async (place: string) => mkdir(place, { mode: 0o777 }).then(async () => chmod(place, 0o777)),
  ],
  [
    "is a link",
    async (place: string) => {
      await mkdir(`${place}-other`, { mode: 0o700 });
      await symlink(`${place}-other`, place);
    },
  ],
  [
    "is another user's",
    async (place: string) => {
      await mkdir(place, { mode: 0o700 });
      const own = process.geteuid?.() ?? 0;
      const other = vi.spyOn(process, "geteuid").mockReturnValue(own + 1);
      onTestFinished(() => other.mockRestore());
    },
  ],
])("tells nothing to a socket whose folder %s, and forgets the session", async (_, make) => {
  const { run, session, state } = await user();
  const place = join(await folder(), "holdfast-abc");
  await make(place);
  const told: string[] = [];
  const connections: string[] = [];
  const listener = createServer((socket) => {
    connections.push("one");
    socket.on("data", (bytes) => told.push(bytes.toString()));
  });
  const socket = join(place, "socket");
  await new Promise<void>((resolve) => listener.listen(socket, resolve));
  onTestFinished(() => void listener.close());
  const address = { name: "@page", socket, token: "secret" };
  const records = new Records(join(state, "state.db"));
  const server = { spec: { given: "x" }, name: "x", shown: "x", isTyped: true, isUsers: true };
  records.set("session", "@page", { name: "@page", address, protocolVersion: "2026-07-28", server });
  await expect(new SessionTransport(address).start()).rejects.toThrow("The session @page has ended");
  expect(await run("@page", "call", "count", "password=x")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("There is no open session @page; open are: none") as string,
  });
  expect(session("@page")).toBeUndefined();
  expect([connections, told]).toEqual([[], []]);
});

it("says that a session did not start whose process was killed", async () => {
  const state = await folder();
  const program = join(state, "killed.js");
  await writeFile(program, 'process.kill(process.pid, "SIGKILL");');
  const sessions = new OpenSessions(new Records(join(state, "state.db")));
  const target = { command: "none" };
  await expect(
    sessions.start({ target, name: "@page", idleMs: 1000, terminal: null, program }),
  ).rejects.toThrow("The server did not start: its session ended");
});

it("opens one session of a name, whoever else opens it at the same time", { timeout: 60_000 }, async () => {
  const { run, session } = await user();
  const open = async (): Promise<Run> => run("open", "@page", "--", process.execPath, "-e", counter);
  const both = (await Promise.all([open(), open()])).toSorted(
    (one, other) => Number(one.code) - Number(other.code),
  );
  expect(both).toMatchObject([{ code: 0 }, { code: 2 }]);
  expect(both[1]?.stderr).toContain("The session @page is open");
  expect(session("@page")).toBeDefined();
  expect((await run("@page", "call", "count")).stdout).toMatch(/^\d+ 1\n$/);
});

it("ends with the command that opens it, if that is ended first", { timeout: 60_000 }, async () => {
  const sessions = new OpenSessions(new Records(join(await folder(), "state.db")));
  const target = { command: process.execPath, args: ["-e", counter] };
  const setup = { target, name: "@page", idleMs: 3_600_000, terminal: null, program: holdfast };
  const address = await sessions.start(setup);
  const transport = new SessionTransport(address);
  await transport.start();
  await transport.close();
  await vi.waitUntil(() => !existsSync(address.socket), { timeout: 30_000 });
});

it("needs a time to be idle", async () => {
  const { run } = await user();
  expect(await run("open", "@page", "--idle", "0", "--", "node")).toMatchObject({ code: 2 });
});

it("starts nothing for a folder's server that is not trusted, or under a name that is no session's", async () => {
  const { run } = await user();
  const cwd = await folder();
  await writeFile(
    join(cwd, ".mcp.json"),
    JSON.stringify({ mcpServers: { evil: { command: "node", args: ["x.js"] } } }),
  );
  const untrusted = await runMain(["open", "evil", "@page"], {
    cwd,
    env: { HOLDFAST_STATE: await folder() },
  });
  expect(untrusted).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("is not one that you trust") as string,
  });
  expect(await run("open", "page", "--", "node", "x.js")).toMatchObject({ code: 2 });
  expect(await run("open", "@../x", "--", "node", "x.js")).toMatchObject({ code: 2 });
  expect(await run("close", "@none")).toMatchObject({ code: 2 });
  const missing = await run("open", "@none", "--", join(await folder(), "missing"));
  expect(missing).toMatchObject({ code: 6 });
  expect(missing.stderr).toContain("ENOENT");
});
