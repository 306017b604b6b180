import { createInterface } from "node:readline/promises";
import { connect } from "holdfast/client";

const { SERVER = "http://127.0.0.1:3000/mcp", TOKEN = "" } = process.env;
const month = process.argv[2] ?? "2026-10";

const client = await connect(SERVER, {
  ...(TOKEN !== "" && { token: TOKEN }),
  onInput: async (request) => {
    if (request.method !== "elicitation/create") throw new Error(`Cannot answer ${request.method}`);
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    const answer = await terminal.question(`${request.params.message} [y/n] `);
    terminal.close();
    return answer.startsWith("y") ? { action: "accept", content: {} } : { action: "decline" };
  },
});

// Waits for the result, through restarts of the server.
const { content } = await client.callTool("report", { month });
console.log(content);

await client.close();
