import type { ElicitRequestFormParams, McpServer, ServerContext } from "@modelcontextprotocol/server";
import * as z from "zod";
import { text } from "../../text.ts";
import { defaultsForm, enumsForm, personForm } from "./forms.ts";

/** Tools that ask while they work: the question is a request from the server, on the stream of the call. */
export function addAskingTools(mcp: McpServer): void {
  mcp.registerTool(
    "test_sampling",
    {
      description: "Asks the client's model",
      inputSchema: z.object({ prompt: z.string().describe("What to ask") }),
    },
    async ({ prompt }, { mcpReq }) => {
      const messages = [{ role: "user" as const, content: { type: "text" as const, text: prompt } }];
      const options = { relatedRequestId: mcpReq.id, signal: mcpReq.signal };
      const { content } = await mcpReq.requestSampling({ messages, maxTokens: 100 }, options);
      const [first] = Array.isArray(content) ? content : [content];
      return text(`LLM response: ${first?.type === "text" ? first.text : `some ${first?.type}`}`);
    },
  );
  mcp.registerTool(
    "test_elicitation",
    {
      description: "Asks the user for a name and an address",
      inputSchema: z.object({ message: z.string().describe("What to tell the user") }),
    },
    ({ message }, context) => ask(context, message, personForm),
  );
  mcp.registerTool(
    "test_elicitation_sep1034_defaults",
    { description: "Asks the user with a form whose fields have defaults" },
    (context) => ask(context, "Please review these values", defaultsForm),
  );
  mcp.registerTool(
    "test_elicitation_sep1330_enums",
    { description: "Asks the user with a form of every kind of choice" },
    (context) => ask(context, "Please choose", enumsForm),
  );
}

type Form = ElicitRequestFormParams["requestedSchema"];

async function ask({ mcpReq }: ServerContext, message: string, requestedSchema: Form) {
  // Without the id of the call, the SDK asks on whatever other stream the client has open.
  const options = { relatedRequestId: mcpReq.id, signal: mcpReq.signal };
  const { action, content } = await mcpReq.elicitInput({ message, requestedSchema }, options);
  return text(`User response: action=${action}, content=${JSON.stringify(content ?? {})}`);
}
