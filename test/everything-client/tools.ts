import * as z from "zod";
import type { Use } from "./host.ts";
import { sampleOf } from "./samples.ts";

export const listTools: Use = async (client) => {
  await client.sdk.listTools();
};

/** Calls all tools at once, so that the rounds of several calls are open side by side. */
export const callEachTool: Use = async (client) => {
  const { tools } = await client.sdk.listTools();
  await Promise.all(
    tools.map(async ({ name, inputSchema }) => {
      const properties = Object.entries(inputSchema.properties ?? {});
      const args = Object.fromEntries(properties.map(([key, schema]) => [key, sampleOf(schema)]));
      await client.callTool(name, args);
    }),
  );
};

const givenCalls = z.object({
  toolCalls: z.array(z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) })),
});

/** Makes the calls that the scenario gives, whose arguments are hard to repeat in headers. */
export const callGivenTools: Use = async (client, { context }) => {
  await client.sdk.listTools();
  for (const { name, arguments: args } of givenCalls.parse(context).toolCalls)
    await client.callTool(name, args);
};

/** Sends the schema of one tool to another, so that the suite sees what the client made of it. */
export const echoSchema: Use = async (client) => {
  const { tools } = await client.sdk.listTools();
  const shown = tools.find(({ name }) => name === "json_schema_2020_12_tool");
  if (shown === undefined) throw new Error("The server has no tool json_schema_2020_12_tool");
  await client.callTool("json_schema_echo", { schema: shown.inputSchema });
};
