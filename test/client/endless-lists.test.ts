import { connect } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";

/** A server whose lists name another page each time, or the same one. */
const program = `
let page = 0;
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  const answer = (result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
  if (method === "initialize")
    answer({ protocolVersion: "2025-06-18", capabilities: { tools: {}, prompts: {} }, serverInfo: { name: "endless", version: "1" } });
  else if (method === "tools/list")
    answer({ tools: Array.from({ length: 1000 }, () => ({ name: "t" + page, inputSchema: { type: "object" } })), nextCursor: String(page++) });
  else if (method === "prompts/list") answer({ prompts: [{ name: "p" }], nextCursor: "again" });
});
`;

it("reads no list for ever whose server names a next page each time, and says so", async () => {
  const client = await connect({ command: process.execPath, args: ["-e", program] });
  onTestFinished(async () => client.close());
  const { tools, problems } = await client.listTools();
  expect(tools).toHaveLength(100_000);
  expect(problems).toEqual(["the list goes on behind 100000 items, which were read"]);
  expect((await client.listPrompts()).prompts).toHaveLength(2);
});
