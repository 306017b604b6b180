import { fromJsonSchema } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { text } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

it("has the SDK check the headers that a tool's arguments are repeated in", async () => {
  const region = { type: "string", "x-mcp-header": "Region" };
  const inputSchema = fromJsonSchema({ type: "object", properties: { region } });
  let runs = 0;
  const peer = await StatelessClient.of({
    tools: (tasks) => tasks.tool("deploy", { inputSchema }, () => text(String(++runs))),
  });
  await peer.send("tasks/get", { taskId: "a" }); // from here on the server knows its name
  const call = (headers: Record<string, string>): ReturnType<StatelessClient["call"]> =>
    peer.call("deploy", { region: "eu" }, { headers });
  for (const headers of [{}, { "Mcp-Param-Region": "us" }]) {
    expect(await call(headers)).toMatchObject({ status: 400, error: { code: -32020 } });
  }
  expect(runs).toBe(0);
  const { result } = await call({ "Mcp-Param-Region": "eu" });
  expect(result).toMatchObject({ resultType: "task" });
});
