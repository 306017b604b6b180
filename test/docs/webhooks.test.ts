import { readFile } from "node:fs/promises";
import { once } from "node:events";
import { connect } from "holdfast/client";
import { expect, it } from "vitest";
import { example, newFolder, serveExample } from "./example-process.ts";

const guide = await readFile(new URL("../../docs/operate/webhooks.md", import.meta.url), "utf8");

it("shows a server with a webhook, and a receiver that checks what comes", { timeout: 60_000 }, async () => {
  const names = ["guides/webhook-sender.ts", "guides/webhook-receiver.ts"] as const;
  for (const name of names) expect(guide).toContain(await readFile(example(name), "utf8"));
  const ARCHIVE_SECRET = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const [sender, receiver] = names;
  const archive = await serveExample(receiver, await newFolder(), { ARCHIVE_SECRET });
  const said = once(archive.output, "line");
  const env = { ARCHIVE_SECRET, ARCHIVE_URL: archive.url };
  const server = await serveExample(sender, await newFolder(), env);
  const client = await connect(server.url);
  await client.callTool("render", { month: "2026-10" });
  expect(String(await said)).toMatch(/^task\.completed render [\w-]+$/);
  const forged = { method: "POST", headers: { "webhook-id": "1", "webhook-timestamp": "1" }, body: "{}" };
  expect((await fetch(archive.url, forged)).status).toBe(401);
  await client.close();
  expect(await server.stop()).toEqual([0, null]);
  expect(await archive.stop()).toEqual([0, null]);
});
