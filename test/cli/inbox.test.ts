import { writeFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createTasks } from "holdfast";
import { connectAll } from "holdfast/host";
import { sqliteStore } from "holdfast/sqlite";
import { expect, test, vi } from "vitest";
import { sourceOf, text } from "../host/source.ts";
import { folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

test("shows the results that a conversation has not taken, and hands them to a program that acknowledges them", async () => {
  const home = await folder();
  const host = await connectAll({
    tasks: createTasks({ store: sqliteStore(join(home, "agent.db")) }),
    servers: { build: sourceOf("build", { compile: async () => text("compiled") }) },
    policy: () => ({ mode: "background" }),
  });
  const chat = host.conversation("chat-17");
  await chat.call("build__compile", { input: "web" }, { id: "call-1" });
  await vi.waitUntil(async () => (await chat.calls()).every(({ state }) => state === "ended"));
  await host.close();

  const run = (...words: string[]) => runMain(["inbox", "agent.db", ...words], { cwd: home });
  const message = { id: "call-1", tool: "build__compile", args: { input: "web" }, isBackground: true };
  const shown = await run("chat-17", "--json");
  expect(JSON.parse(shown.stdout)).toEqual({ messages: [{ ...message, result: text("compiled") }] });
  expect((await run("chat-17")).stdout).toContain('build__compile({"input":"web"}) ended\ncompiled\n');
  expect((await run("chat-18")).stderr).toContain("The inbox of chat-18 is empty.");

  await writeFile(join(home, "refuse"), "#!/bin/sh\nexit 3\n", { mode: 0o700 });
  await writeFile(join(home, "append"), "#!/bin/sh\ncat >> taken.jsonl\n", { mode: 0o700 });
  const refused = await run("chat-17", "--exec", "./refuse");
  expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("stays in the inbox") as string });
  expect(await run("chat-17", "--exec", "./absent")).toMatchObject({ code: 2 });
  expect(await run("chat-17", "--follow")).toMatchObject({ code: 2 });
  expect(await run("chat-17", "--exec", "./append")).toMatchObject({ code: 0 });
  expect(JSON.parse(await readFile(join(home, "taken.jsonl"), "utf8"))).toMatchObject(message);
  expect(JSON.parse((await run("chat-17", "--json")).stdout)).toEqual({ messages: [] });
});
