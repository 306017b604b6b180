import { connect } from "holdfast/client";

const client = await connect(process.argv[2] ?? "http://127.0.0.1:3000/mcp", {
  // The folder in which calls are kept, from before they are sent until somebody was told their end.
  handles: "handles",
  onInput: async () => ({ action: "accept", content: { note: "go" } }),
});

// What a process before this one left, however it ended.
for (const call of await client.pending()) {
  const handle = await call.take();
  console.log(call.tool, call.args, (await handle.result()).content);
}

// The next process hears of this one.
await client.startTool("publish_report", { month: "2026-12" });
await client.close();
