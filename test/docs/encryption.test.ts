import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "holdfast/client";
import { expect, it } from "vitest";
import { example, newFolder, serveExample } from "./example-process.ts";

const guide = await readFile(new URL("../../docs/operate/encryption.md", import.meta.url), "utf8");

it("shows a server whose database has nothing of what it says", { timeout: 60_000 }, async () => {
  expect(guide).toContain(await readFile(example("guides/encryption.ts"), "utf8"));
  const folder = await newFolder();
  const env = { PORT: "0", HOLDFAST_ENCRYPTION_KEYS: `2026-11:${Buffer.alloc(32, 1).toString("base64")}` };
  const server = await serveExample("guides/encryption.ts", folder, env);
  const client = await connect(server.url);
  const { content } = await client.callTool("greet", { name: "a s3cr3t name" });
  expect(content).toEqual([{ type: "text", text: "Hello, a s3cr3t name" }]);
  const files = (await readdir(folder)).filter(
    (name) => name.startsWith("tasks.db") && !name.endsWith("owners"),
  );
  expect(files.length).toBeGreaterThan(1);
  for (const name of files) expect(await readFile(join(folder, name), "latin1")).not.toContain("s3cr3t");
  await client.close();
  expect(await server.stop()).toEqual([0, null]);
});
