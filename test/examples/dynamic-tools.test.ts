import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { newFolder, serveExample } from "../docs/example-process.ts";

it("shows tools that come and go with the files of a folder", { timeout: 60_000 }, async () => {
  const folder = await newFolder();
  const queries = join(folder, "queries");
  await mkdir(queries);
  const server = await serveExample("dynamic-tools/server.ts", folder, { PORT: "0" });
  const lists: string[][] = [];
  const client = new Client(
    { name: "listening", version: "1.0.0" },
    {
      listChanged: {
        tools: { onChanged: (_, tools) => void lists.push((tools ?? []).map(({ name }) => name)) },
      },
    },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
  onTestFinished(() => client.close());
  expect((await client.listTools()).tools).toEqual([]);
  await writeFile(join(queries, "sales.sql"), "select 1");
  server.signal("SIGHUP");
  await expect.poll(() => lists, { timeout: 20_000 }).toEqual([["sales"]]);
  expect((await client.callTool({ name: "sales" })).content).toEqual([
    { type: "text", text: "the rows of queries/sales.sql" },
  ]);
  await rm(join(queries, "sales.sql"));
  server.signal("SIGHUP");
  await expect.poll(() => lists, { timeout: 20_000 }).toEqual([["sales"], []]);
});
