import { protocolVersions } from "../../generation/generations.ts";
import {
  closedSchema,
  flagSchema,
  servedToolSchemas,
  textsByNameSchema,
  textSchema,
  textsSchema,
  timeSchema,
  type JsonSchema,
} from "../file-schemas.ts";

const repeat: JsonSchema = {
  enum: ["annotations", "always", "never"],
  description:
    "Whether a call is made again if its answer was lost: if the tool's annotations allow it, always, or never.",
};

/** The options of `mcpUpstream`, as a file gives them. */
export const mcpOptionsSchema: JsonSchema = closedSchema({
  command: textSchema("The program to start, which speaks over its stdin and stdout. Either this or url."),
  args: textsSchema("The arguments of the program."),
  env: textsByNameSchema("Variables for the program, besides the few that it gets, such as PATH and HOME."),
  cwd: textSchema("The folder in which the program starts."),
  url: textSchema("The address of the server."),
  headers: textsByNameSchema("Sent with every request to the url."),
  token: textSchema("The bearer token for the url. The caller's own token is never passed on."),
  exchange: closedSchema(
    {
      tokenEndpoint: textSchema("The token endpoint of the authorization server."),
      clientId: textSchema("The id of this server there."),
      clientSecret: textSchema("Its secret there."),
      audience: textSchema("The name of the other server there."),
      resource: textSchema("The URL of the other server, as its tokens name it."),
      scope: textSchema("Scopes, separated by spaces."),
    },
    ["tokenEndpoint"],
  ),
  prefix: { type: "string", description: "Before the names of its tools and prompts." },
  include: textsSchema(
    "The tools to serve, by their names at the server; * stands for any characters. Default: all.",
  ),
  exclude: textsSchema("The tools to leave out, in the same way."),
  tools: {
    type: "object",
    additionalProperties: closedSchema({
      ...servedToolSchemas,
      timeoutMs: timeSchema("How long a call may work without a wait."),
      task: {
        enum: ["optional", "required"],
        description:
          "required: clients without tasks are refused. Default: they are answered, or get a ticket.",
      },
      asksFirst: flagSchema(
        "Whether the server asks questions before it makes a task of a call (2026-07-28).",
      ),
      largeResults: { enum: ["error", "link"], description: "What becomes of a result that is too large." },
      repeat,
    }),
    description: "Options of single tools, by their names at the server.",
  },
  durable: flagSchema(
    "false: calls are passed through while the caller waits, and nothing is stored. Default true.",
  ),
  repeat,
  connections: {
    enum: ["shared", "call"],
    description:
      "call: each call has a connection of its own. Choose it for a server without tasks that asks questions.",
  },
  refreshMs: timeSchema(
    "How often the list of tools is read again besides when the server says that it has changed.",
  ),
  protocolVersion: {
    enum: [...protocolVersions, "earlier"],
    description: "The only protocol version to speak.",
  },
  capabilities: { type: "object", description: "What the server is told that can be answered." },
});
