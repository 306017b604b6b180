import { connect } from "holdfast/client";

const client = await connect(process.argv[2] ?? "http://127.0.0.1:3000/mcp", {
  // The folder that keeps calls, from before they are sent until their results are delivered.
  handles: "handles.db",
  onInput: async () => ({ action: "accept", content: { note: "go" } }),
});

// Calls that an earlier process left unfinished, however it ended.
for (const call of await client.pending()) {
  const handle = await call.take();
  console.log(call.tool, call.args, (await handle.result()).content);
}

// The next process finds this call.
await client.startTool("publish_report", { month: "2026-12" });
await client.close();
