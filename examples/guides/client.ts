import { connect } from "holdfast/client";

const client = await connect(process.argv[2] ?? "http://127.0.0.1:3000/mcp", {
  // Ask your user here; the request is what the server sent, such as an elicitation form.
  onInput: async (request) => {
    if (request.method !== "elicitation/create") throw new Error(`Cannot answer ${request.method}`);
    console.log(request.params.message);
    return { action: "accept", content: { note: "go" } };
  },
});

// Waits, through restarts of the server.
const result = await client.callTool("publish_report", { month: "2026-10" });
console.log(result.content);

// Or returns at once, with a reference that can be kept anywhere as JSON …
const { reference } = await client.startTool("publish_report", { month: "2026-11" });

// … and resumed later, by this process or another.
const handle = await client.resume(reference);
for await (const task of handle.updates()) console.log(task.status);
console.log((await handle.result()).content);

await client.close();
