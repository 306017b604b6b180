import { readFile } from "node:fs/promises";
import { connect } from "holdfast/client";
import { expect, it } from "vitest";
import { FreshDatabase } from "../postgres/test-database.ts";
import { example, newFolder, serveExample } from "../docs/example-process.ts";

it("shows a node, as the guide does, whose tasks another one runs", async () => {
  const guide = await readFile(new URL("../../docs/operate/scaling.md", import.meta.url), "utf8");
  expect(guide).toContain(await readFile(example("guides/node.ts"), "utf8"));

  await using database = await FreshDatabase.create();
  const folder = await newFolder();
  const env = { DATABASE_URL: database.url, PORT: "0" };
  const front = await serveExample("guides/node.ts", folder, { ...env, ROLE: "serve" });
  const worker = await serveExample("guides/node.ts", folder, { ...env, ROLE: "work" });
  expect(worker.url).toBe("works");
  const client = await connect(front.url);
  const { content } = await client.callTool("render", { month: "2026-10" });
  expect(content).toMatchObject([{ text: expect.stringMatching(/^2 rows, by process \d+$/) as unknown }]);
  await client.close();
  expect(await front.stop()).toEqual([0, null]);
  expect(await worker.stop()).toEqual([0, null]);
});
