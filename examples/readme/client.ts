import { connect } from "holdfast/client";

const client = await connect(process.argv[2] ?? "http://127.0.0.1:3000/mcp");

// Waits for the result, through restarts of the server.
const result = await client.callTool("report", { month: "2026-10" });
console.log(result.content);

// Returns at once. The reference is plain JSON: keep it, and fetch the result from another process.
const { reference } = await client.startTool("report", { month: "2026-11" });
const handle = await client.resume(reference);
console.log((await handle.result()).content);

await client.close();
