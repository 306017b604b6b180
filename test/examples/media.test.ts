import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect } from "holdfast/client";
import { serveHttp, type HttpServer } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished, vi } from "vitest";
import { addConvert } from "../../examples/media/add-convert.ts";

const converter = fileURLToPath(new URL("../../examples/media/convert.ts", import.meta.url));

it("converts a recording, also while its server is deployed anew, and keeps the file with the task", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-media-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const [inbox, scratch] = [join(folder, "inbox"), join(folder, "scratch")];
  await Promise.all([mkdir(inbox), mkdir(scratch)]);
  const words = "la ".repeat(100_000);
  await writeFile(join(inbox, "song.wav"), words);
  await writeFile(join(inbox, "song.wav.wait"), "");

  const serve = async (port: number): Promise<HttpServer> => {
    const tasks = createTasks({
      store: sqliteStore(join(folder, "media.db")),
      execFolder: join(folder, "exec"),
    });
    addConvert(tasks, { inbox, scratch, converter: [process.execPath, converter] });
    const server = tasks.server(() => new McpServer({ name: "media", version: "1.0.0" }));
    return serveHttp(server, { port });
  };
  const first = await serve(0);
  const client = await connect(first.url, { pollFloorMs: 50 });
  const result = client.callTool("convert", { recording: "song.wav", format: "txt" });
  await vi.waitUntil(async () => (await readdir(scratch)).length === 1, { timeout: 60_000, interval: 20 });
  await first.close();
  const second = await serve(Number(new URL(first.url).port));
  onTestFinished(() => second.close());
  await rm(join(inbox, "song.wav.wait"));

  const [link] = (await result).content;
  if (link?.type !== "resource_link") throw new Error("The result is no link.");
  expect(link).toMatchObject({ name: "song.txt", mimeType: "text/plain", size: words.length });
  const saved = await client.saveArtifact(link.uri, join(folder, "song.txt"));
  expect(saved.bytes).toBe(words.length);
  expect(await readFile(join(folder, "song.txt"), "utf8")).toBe(words.toUpperCase());
  expect(await readdir(scratch)).toEqual([]);
  await client.close();
});
