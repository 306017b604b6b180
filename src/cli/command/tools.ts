import type { Tool } from "@modelcontextprotocol/client";
import type { TaskClient } from "../../client/task-client.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { Context, ServerOptions } from "../context.ts";
import { describeType, readInputSchema } from "../arguments/input-schema.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import type { ToolJson, ToolsJson } from "../output/json-shapes.ts";
import { declaredTasks } from "../server/server-capabilities.ts";
import { resolveServer } from "../server/find-server.ts";
import { withServer } from "../server/with-server.ts";
import { listTools } from "./find-tool.ts";

interface ToolsCommand {
  readonly server: string;
  readonly options: ServerOptions;
}

/** `holdfast tools SERVER` */
export async function tools(context: Context, { server, options }: ToolsCommand): Promise<ExitCode> {
  return withServer(
    context,
    { server: await resolveServer(context, server, options) },
    options,
    async ({ client, signal, terminal }) => {
      const listed = await listTools(client, signal);
      terminal.display.end();
      if (listed === undefined) throw new TaskClientError("protocol", "The server does not list its tools");
      const { output } = context;
      const support = taskSupport(client);
      const { name = "", version = "" } = client.sdk.getServerVersion() ?? {};
      if (output.json) {
        const document: ToolsJson = {
          server: { name, version },
          tools: listed.map((tool) => toolJson(tool, support(tool))),
        };
        await output.printJson(document);
      } else await output.print(listed.map((tool) => toolLines(tool, support(tool))).join(""));
      return exitCodes.done;
    },
  );
}

/** Whether calls of a tool become tasks. Only protocol 2025-11-25 declares it per tool. */
export function taskSupport(client: TaskClient): (tool: Tool) => ToolJson["task"] {
  const { sdk } = client;
  if (sdk.getProtocolEra() === "modern") return () => "unknown";
  const hasTasks = declaredTasks(client) !== undefined;
  return ({ execution }) => (hasTasks ? (execution?.taskSupport ?? "forbidden") : "forbidden");
}

function toolJson({ name, description, inputSchema }: Tool, task: ToolJson["task"]): ToolJson {
  return { name, ...(description !== undefined && { description }), task, inputSchema };
}

/** A line for the tool, and one for each of its arguments. */
function toolLines({ name, description = "", inputSchema }: Tool, task: ToolJson["task"]): string {
  const { properties, required, root } = readInputSchema(inputSchema);
  const [firstLine = ""] = description.trim().split("\n");
  const head = [name, firstLine, task === "required" || task === "optional" ? `(task: ${task})` : ""];
  const args = [...properties].map(([key, schema]) => {
    const type = describeType(schema, root);
    const about =
      typeof schema["description"] === "string" ? `  ${schema["description"].split("\n")[0]}` : "";
    return `    ${key}=${type}${required.includes(key) ? "" : "?"}${about}\n`;
  });
  return `${head.filter((part) => part !== "").join("  ")}\n${args.join("")}`;
}
