import type { ModelMessage } from "ai";
import type { MockLanguageModelV3 } from "ai/test";
import type { MastraTool } from "holdfast/mastra";

/** Only the slow suite installs it: what is used of it is declared, and its name stands in a variable, so that the compiler does not look for it. */
interface Mastra {
  readonly Agent: new (options: object) => {
    generate(prompt: string): Promise<{ readonly response: { readonly messages?: readonly ModelMessage[] } }>;
  };
}

/** What an agent of Mastra with these tools and this model makes of a prompt: all messages but that. */
export async function runMastra(
  tools: Readonly<Record<string, MastraTool>>,
  model: MockLanguageModelV3,
  prompt: string,
): Promise<readonly ModelMessage[]> {
  const name = "@mastra/core/agent";
  const { Agent } = (await import(name)) as Mastra;
  const agent = new Agent({ id: "agent", name: "agent", instructions: "Do it.", model, tools });
  const { response } = await agent.generate(prompt);
  return response.messages ?? [];
}
