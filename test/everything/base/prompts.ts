import { completable, type GetPromptResult, type McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { image } from "./samples.ts";

const suggestions = ["test", "testing", "value"];
const suggest = (begun = ""): string[] => suggestions.filter((word) => word.startsWith(begun));

/** Prompts with and without arguments, which clients can complete, and with other content than text. */
export function addPrompts(mcp: McpServer): void {
  mcp.registerPrompt("test_simple_prompt", { description: "A prompt without arguments" }, () =>
    prompt({ type: "text", text: "This is a simple prompt for testing." }),
  );
  mcp.registerPrompt(
    "test_prompt_with_arguments",
    {
      description: "A prompt with two arguments",
      argsSchema: z.object({
        arg1: completable(z.string().describe("First test argument"), suggest),
        arg2: completable(z.string().describe("Second test argument"), suggest),
      }),
    },
    ({ arg1, arg2 }) =>
      prompt({ type: "text", text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  );
  mcp.registerPrompt(
    "test_prompt_with_embedded_resource",
    {
      description: "A prompt with an embedded resource",
      argsSchema: z.object({ resourceUri: z.string().describe("URI of the resource to embed") }),
    },
    ({ resourceUri: uri }) =>
      prompt(
        {
          type: "resource",
          resource: { uri, mimeType: "text/plain", text: "Embedded resource content for testing." },
        },
        { type: "text", text: "Please process the embedded resource above." },
      ),
  );
  mcp.registerPrompt("test_prompt_with_image", { description: "A prompt with an image" }, () =>
    prompt(image, { type: "text", text: "Please analyze the image above." }),
  );
}

function prompt(...contents: GetPromptResult["messages"][number]["content"][]): GetPromptResult {
  return { messages: contents.map((content) => ({ role: "user", content })) };
}
