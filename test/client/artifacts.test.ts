import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type ConnectOptions, type TaskClient } from "holdfast/client";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { runMain } from "../cli/run-main.ts";
import { sampleBytes } from "../kit/sample-bytes.ts";
import { serve } from "../kit/server.ts";

/** More than a client reads at a time. */
const bytes = Buffer.from(sampleBytes(2_500_000));
const sha256 = createHash("sha256").update(bytes).digest("hex");

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-artifacts-"));
  onTestFinished(() => rm(folder, { recursive: true }));
});

async function exporting(options: ConnectOptions = {}, maxBodyBytes = 700_000) {
  const { http } = await serve({
    tools: (tasks) => {
      tasks.tool("export", {}, async (_, task) => ({
        content: [
          { type: "text", text: "exported" },
          await task.artifact("data.bin", bytes),
          await task.artifact("notes.txt", "é"),
        ],
      }));
      tasks.tool("long", { largeResults: "link" }, async () => "é".repeat(1_000_000));
    },
    http: { anonymous: "shared" },
    options: { pollIntervalMs: 10, maxBodyBytes },
  });
  const client = await connect(http.url, options);
  onTestFinished(() => client.close());
  return { client, url: http.url };
}

async function linkIn(client: TaskClient, name: string): Promise<string> {
  const { content } = await client.callTool("export");
  const link = content.find((block) => block.type === "resource_link" && block.name === name);
  return link?.type === "resource_link" ? link.uri : "";
}

it.each<[string, ConnectOptions]>([
  ["2026-07-28", {}],
  ["2025-11-25", { protocolVersion: "2025-11-25" }],
  ["SEP-1686", { protocolVersion: "2025-06-18" }],
])("saves the files that a task has made on %s, and lists them", async (_, options) => {
  const { client } = await exporting(options);
  const handle = await client.startTool("export");
  await handle.result();
  const listed = await handle.artifacts();
  expect(listed).toMatchObject([
    { name: "data.bin", bytes: bytes.length, sha256, mimeType: "application/octet-stream" },
    { name: "notes.txt", bytes: 2, mimeType: "text/plain" },
  ]);
  const path = join(folder, "data.bin");
  const seen: unknown[] = [];
  const onProgress = (saved: number, size: number): void => void seen.push([saved, size]);
  const saved = await client.saveArtifact(listed[0]?.uri ?? "", path, { onProgress });
  expect(saved).toEqual({ path, bytes: bytes.length, mimeType: "application/octet-stream", sha256 });
  expect((await readFile(path)).equals(bytes)).toBe(true);
  expect(seen.at(-1)).toEqual([bytes.length, bytes.length]);
  expect(seen.length).toBeGreaterThan(2);
  await client.saveArtifact(listed[1]?.uri ?? "", path);
  expect(await readFile(path, "utf8")).toBe("é");
  expect(await readdir(folder)).toEqual(["data.bin"]);
});

it("goes on where an earlier save was stopped, and begins again where that was of another file", async () => {
  const { client } = await exporting();
  const uri = await linkIn(client, "data.bin");
  const path = join(folder, "data.bin");
  const stop = new AbortController();
  const stopped = client.saveArtifact(uri, path, {
    signal: stop.signal,
    onProgress: () => stop.abort(new Error("stopped")),
  });
  await expect(stopped).rejects.toThrow("stopped");
  expect(await readdir(folder)).toEqual(["data.bin.part"]);
  const first: number[] = [];
  await client.saveArtifact(uri, path, { onProgress: (saved) => first.push(saved) });
  expect(first[0]).toBe(1_400_000);
  for (const left of [bytes.subarray(5, 1_000_000), Buffer.alloc(3_000_000)]) {
    await writeFile(`${path}.part`, left);
    await client.saveArtifact(uri, path);
    expect((await readFile(path)).equals(bytes)).toBe(true);
  }
  expect(await readdir(folder)).toEqual(["data.bin"]);
});

it("leaves nothing behind for what is none, and says so", async () => {
  const { client } = await exporting();
  const uri = await linkIn(client, "data.bin");
  const path = join(folder, "x");
  await expect(client.saveArtifact(`${uri}x`, path)).rejects.toMatchObject({ code: "rpc" });
  for (const wrong of ["test://note", `${uri}?from=1`, uri.replace("/data.bin", "")])
    await expect(client.saveArtifact(wrong, path)).rejects.toThrow(TypeError);
  await expect(client.saveArtifact(uri, join(folder, "none", "x"))).rejects.toMatchObject({ code: "ENOENT" });
  expect(await readdir(folder)).toEqual([]);
});

it("is saved by the command line, of a result and by its URI", async () => {
  const { client, url } = await exporting();
  const called = await runMain(["call", url, "export", "--save", folder]);
  expect(called.stdout).toContain(`saved ${join(folder, "data.bin")} (application/octet-stream, 2.4 MiB)`);
  expect((await readFile(join(folder, "data.bin"))).equals(bytes)).toBe(true);
  expect(await readFile(join(folder, "notes.txt"), "utf8")).toBe("é");
  const read = await runMain(["read", url, await linkIn(client, "data.bin"), "--save", folder]);
  expect([read.code, read.stdout]).toEqual([
    0,
    `saved ${join(folder, "data-2.bin")} (application/octet-stream, 2.4 MiB)\n`,
  ]);
  const long = await runMain(["call", url, "long", "--save", folder]);
  expect(long.stdout).toContain("The result has 2000000 bytes");
  expect(await readFile(join(folder, "result.txt"), "utf8")).toBe("é".repeat(1_000_000));
});
