import type { Use } from "./host.ts";
import { callEachTool } from "./tools.ts";

/** Calls every tool, reads every resource and gets every prompt that the server lists. */
export const useEverything: Use = async (client, run) => {
  await callEachTool(client, run);
  const { resources } = await client.sdk.listResources();
  for (const { uri } of resources) await client.readResource(uri);
  const { prompts } = await client.sdk.listPrompts();
  for (const { name, arguments: wanted = [] } of prompts) {
    await client.getPrompt(name, Object.fromEntries(wanted.map((argument) => [argument.name, "sample"])));
  }
};
