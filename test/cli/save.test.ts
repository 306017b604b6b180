import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { EverythingServer } from "../conformance/everything-server.ts";
import { folder, program, type Run } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };

/** A server whose task gives every kind of content, with names that lead elsewhere. */
async function filesServer() {
  const tasks = createTasks({ store: memoryStore(), pollIntervalMs: 10 });
  tasks.tool("make", { inputSchema: z.object({ photo: z.base64().optional() }) }, async ({ photo }) => ({
    content: [
      { type: "text", text: "All of it:" },
      image,
      { ...image, data: photo ?? "BBBB" },
      { type: "resource", resource: { uri: "file:///a/..%2f..%2fevil.sh", text: "no" } },
      { type: "resource_link", uri: "test://report", name: "report", mimeType: "text/csv" },
      { type: "resource_link", uri: "test://gone", name: "gone" },
    ],
  }));
  tasks.tool("rows", { inputSchema: z.object({}) }, async () => ({
    content: [],
    structuredContent: { rows: [{ name: "Ada", born: 1815 }] },
  }));
  const server = tasks.server(() => {
    const mcp = new McpServer({ name: "files", version: "1.0.0" });
    mcp.registerResource("report", "test://report", { mimeType: "text/csv" }, ({ href: uri }) => ({
      contents: [{ uri, text: "a,b\n" }],
    }));
    mcp.registerResource("long", "test://long", {}, ({ href: uri }) => ({
      contents: [{ uri, text: "a line\n".repeat(100_000) }],
    }));
    return mcp;
  });
  return serveHttp(server, { port: 0, anonymous: "shared" });
}

describe("--save", { timeout: 60_000 }, () => {
  let http: Awaited<ReturnType<typeof filesServer>>;
  beforeAll(async () => (http = await filesServer()));
  afterAll(async () => http.close());

  const run = async (args: readonly string[], cwd: string, columns?: number): Promise<Run> =>
    runMain(args, {
      cwd,
      env: { HOLDFAST_STATE: join(cwd, "state") },
      ...(columns !== undefined && { columns }),
    });

  it("saves all that is no text, under names that stay in the folder, and keeps what failed on the list", async () => {
    const cwd = await folder();
    const { code, stdout, stderr } = await run(["call", http.url, "make", "--save", "out"], cwd);
    expect(stdout).toBe(
      [
        "All of it:",
        "saved out/image.png (image/png, 3 bytes)",
        "saved out/image-2.png (image/png, 3 bytes)",
        "saved out/_.._evil.sh (2 bytes)",
        "saved out/report.csv (text/csv, 4 bytes)",
        "[resource test://gone]",
        "",
      ].join("\n"),
    );
    expect(stderr).toMatch(/could not save \[resource test:\/\/gone\]: .*test:\/\/gone/);
    expect(code).toBe(3);
    expect(await readdir(join(cwd, "out"))).toHaveLength(4);
    expect(await readFile(join(cwd, "out", "report.csv"), "utf8")).toBe("a,b\n");
    expect(await readdir(cwd)).toEqual(["out", "state"]);
    const again = await run(["result", "last", "--save", "again", "--json"], cwd);
    const { tasks } = JSON.parse((await run(["ls", "--json"], cwd)).stdout) as { tasks: unknown[] };
    expect(tasks).toHaveLength(1);
    expect(JSON.parse(again.stdout)).toMatchObject({
      status: "completed",
      saved: ["again/image.png", "again/image-2.png", "again/_.._evil.sh", "again/report.csv"],
    });
  });

  it("replaces nothing, and follows no link", async () => {
    const cwd = await folder();
    await writeFile(join(cwd, "image.png"), "mine");
    await symlink(join(cwd, "elsewhere"), join(cwd, "image-2.png"));
    const { stdout } = await run(["call", http.url, "make", "--save", "."], cwd);
    expect(stdout).toContain("saved image-3.png");
    expect(stdout).toContain("saved image-4.png");
    expect(await readFile(join(cwd, "image.png"), "utf8")).toBe("mine");
    expect(await readdir(cwd)).not.toContain("elsewhere");
  });

  it("leaves no part of a file that could not be written, and says so", async () => {
    const cwd = await folder();
    const command = `ulimit -f 64 && exec '${process.execPath}' '${program}' "$@"`;
    const words = ["read", http.url, "test://long", "--save", "out"];
    const env = { ...process.env, HOLDFAST_STATE: join(cwd, "state"), HOLDFAST_KEYRING: "off" };
    const child = spawn("/bin/sh", ["-c", command, "sh", ...words], { cwd, env });
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close"),
    ]);
    expect({ code, lines: stdout.split("\n").length }).toEqual({ code: 3, lines: 100_001 });
    expect(stderr).toMatch(/^holdfast: could not save \[resource test:\/\/long\]: .*EFBIG/);
    expect(await readdir(join(cwd, "out"))).toEqual([]);
  });

  it("saves what a file as an argument has brought", async () => {
    const cwd = await folder();
    const bytes = Buffer.from([0xff, 0xd8, 0x00, 0x01]);
    await writeFile(join(cwd, "photo.jpg"), bytes);
    await run(["call", http.url, "make", "photo=@photo.jpg", "--save", "out"], cwd);
    expect(await readFile(join(cwd, "out", "image-2.png"))).toEqual(bytes);
  });

  it("calls nothing where the folder cannot be made, or where nobody waits for the result", async () => {
    const cwd = await folder();
    await writeFile(join(cwd, "file"), "");
    const refused = await run(["call", http.url, "make", "--save", "file/out"], cwd);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("--save: ");
    expect(await run(["call", http.url, "make", "--save", ".", "--detach"], cwd)).toMatchObject({ code: 2 });
    expect((await run(["ls", "--json", "--all"], cwd)).stdout).toBe('{"tasks":[]}\n');
  });

  it("describes in a line what it is not told to save, and shows what is structured as a table", async () => {
    const cwd = await folder();
    const { stdout } = await run(["call", http.url, "make"], cwd);
    expect(stdout).toContain("[image image/png, 3 bytes]\n");
    expect(stdout).toContain("[resource test://report, text/csv]\n");
    expect((await run(["call", http.url, "rows"], cwd, 80)).stdout).toBe("name  born\nAda   1815\n");
    expect((await run(["call", http.url, "rows"], cwd)).stdout).toContain('"rows": [');
  });
});

it("saves the messages of a prompt", { timeout: 60_000 }, async () => {
  const server = new EverythingServer();
  const cwd = await folder();
  const words = ["prompt", await server.url, "test_prompt_with_image", "--save", "out"];
  const { code, stdout } = await runMain(words, { cwd });
  await server.stop("SIGKILL");
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: "user:\nsaved out/image.png (image/png, 69 bytes)\n\nuser:\nPlease analyze the image above.\n",
  });
});
