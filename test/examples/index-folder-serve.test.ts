import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { ExampleProcess, root } from "./index-folder-process.ts";
import { fillSampleFolder, type Totals } from "./sample-folder.ts";

let cwd = "";
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "holdfast-serve-test-"));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

function serve(env: Readonly<Record<string, string>> = {}): ExampleProcess {
  return new ExampleProcess("serve.ts", [], { cwd, env: { PORT: "0", ...env } });
}

async function urlOf(server: ExampleProcess): Promise<string> {
  const [, url] = await server.printed(/ at (http:\S+)[^]*client\.close\(\);\n/);
  return url ?? "";
}

async function discover(url: string): Promise<unknown> {
  const protocolVersion = "2026-07-28";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": protocolVersion,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": protocolVersion,
      "mcp-method": "server/discover",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta } }),
  });
  return response.json();
}

/** Runs the script that the server prints, in this repository, as the server says. */
async function runPrinted(output: string): Promise<{ output: string; errors: string }> {
  const script = output
    .split("\n")
    .filter((line) => line.startsWith("    "))
    .join("\n");
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { cwd: root });
  const [printed, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { output: printed, errors };
}

describe("npm start", { timeout: 120_000 }, () => {
  it.each(["SIGTERM", "SIGINT"] as const)("answers until %s, also a repeated one", async (name) => {
    const server = serve();
    const url = await urlOf(server);
    expect(await discover(url)).toMatchObject({
      result: { capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
    });
    server.signal(name);
    server.signal(name);
    expect(await server.ended()).toBe(0);
    expect(await server.stderr).toBe("");
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });

  it("prints a client that works, and does not open its own database", async () => {
    const { files, words }: Totals = await fillSampleFolder(join(cwd, "src"), 20);
    const HOLDFAST_STORE = "sqlite:src/tasks.db";
    const server = serve({ HOLDFAST_STORE });
    await urlOf(server);
    const [printed] = await server.printed(/[^]+/);
    const client = await runPrinted(printed);
    expect(client.errors).toBe("");
    expect(client.output).toContain(`${files} files, ${words.toLocaleString("en-US")} words`);
    const [, reportPath = ""] = /^Report: (.*)$/m.exec(client.output) ?? [];
    expect(await readFile(reportPath, "utf8")).toMatch(/^# Index of src\n/);
    // Had the tool opened and closed the server's lock, another process would take the server for dead.
    const other = sqliteStore(join(cwd, "src/tasks.db"));
    await other.open({ id: "other", handlers: [] });
    onTestFinished(() => other.close());
    expect(await other.renew()).toEqual({ held: true, gone: [], others: 1 });
  });

  it("shares its database with another one", async () => {
    const servers = [serve(), serve()];
    const urls = await Promise.all(servers.map(urlOf));
    expect(new Set(urls).size).toBe(2);
    const supported = { result: { capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } } };
    for (const url of urls) expect(await discover(url)).toMatchObject(supported);
  });

  it("says in one line why it cannot start", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    onTestFinished(() => void holder.close());
    const address = holder.address();
    const PORT = String(typeof address === "object" ? address?.port : undefined);
    await writeFile(join(cwd, "corrupt.db"), "This is no database. ".repeat(400));
    const cases: [env: Record<string, string>, message: RegExp][] = [
      [{ PORT }, new RegExp(`^Port ${PORT} on 127\\.0\\.0\\.1 is in use by another program\\..*\\n$`)],
      [{ PORT: "http" }, /^PORT is "http"\..*\n$/],
      [{ HOLDFAST_STORE: "redis://me:secret@host" }, /^"redis:\/\/…@host" is not the URL of a store\..*\n$/],
      [{ HOLDFAST_STORE: "sqlite:corrupt.db" }, /^\S*corrupt\.db cannot be used: .*\n$/],
    ];
    for (const [env, message] of cases) {
      const server = serve(env);
      expect(await server.ended()).toBe(1);
      expect(await server.stderr).toMatch(message);
      expect(await server.stdout).toBe("");
    }
  });
});
