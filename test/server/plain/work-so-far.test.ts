import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { ticketOf } from "./job.ts";

const options = { plain: "ticket", plainDeadlineMs: 20 } as const;

/** A tool that has appended seven lines and these blocks when it rests. */
function index(blocks: readonly string[]): (tasks: Pick<Tasks, "tool">) => void {
  return (tasks) =>
    tasks.tool("index", {}, async (_, task) => {
      for (let n = 1; n <= 7; n++) await task.log("info", `page ${n}\nis read`);
      for (const made of blocks) await task.output(made);
      await task.status("read");
      await task.sleep("rest", 3_600_000);
      return text("indexed");
    });
}

const lastLines = [3, 4, 5, 6, 7].map((n) => `info: page ${n} is read`);

it("shows a model the last lines of the log, and the output so far, in a session", async () => {
  const { server } = await startServer(index(["one", "two"]), options);
  const session = await InMemorySession.open(server, { version: "2025-06-18" });
  const { reference } = ticketOf(await session.result(session.call("index", {})));
  let result = await session.result(session.call("task_result", { reference }));
  while (ticketOf(result).data["statusMessage"] !== "read") {
    result = await session.result(session.call("task_result", { reference }));
  }
  const { data, text: said } = ticketOf(result);
  expect(data).toMatchObject({ log: lastLines, output: [block("one"), block("two")] });
  expect(said).toContain(["The last lines of its log:", ...lastLines.map((line) => `- ${line}`)].join("\n"));
  expect(said).toMatch(/Its output so far follows this text\. It is not the final result\.$/);
  expect(result["content"]).toEqual([block(said), block("one"), block("two")]);
});

it("shows only the newest of much output, on 2026-07-28 too", async () => {
  const blocks = Array.from({ length: 30 }, (_, n) => `${n} ${"x".repeat(3_000)}`);
  const peer = await StatelessClient.of({ tools: index(blocks), options, http: { anonymous: "shared" } });
  const without = { capabilities: {} };
  let { result } = await peer.call("index", {}, without);
  const { reference } = ticketOf(result);
  while (ticketOf(result).data["statusMessage"] !== "read") {
    ({ result } = await peer.call("task_result", { reference }, without));
  }
  expect(ticketOf(result).text).toContain("Its output so far (the last 5 of 30 parts) follows");
  const [, ...shown] = (result?.["content"] ?? []) as unknown[];
  expect(shown).toEqual(blocks.slice(-5).map(block));
  // The reference names the task in the URI of its log too.
  const uri = `task://${reference}/log?after=6`;
  const read = await peer.result("resources/read", { uri }, { ...without, headers: { "Mcp-Name": uri } });
  const [content] = read["contents"] as { text: string }[];
  expect(JSON.parse(content?.text ?? "")).toMatchObject({ seq: 7, text: "page 7\nis read" });
});

function block(value: string): object {
  return { type: "text", text: value };
}
