import type { Tool } from "@modelcontextprotocol/client";
import type { TaskClient } from "../../client/task-client.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { Context, WaitingOptions } from "../context.ts";
import { describeType, readInputSchema } from "../arguments/input-schema.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import type { ToolJson, ToolsJson } from "../output/json-shapes.ts";
import { declaredTasks, serverInfo } from "../server/server-capabilities.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { exampleCall, toolPage } from "../output/tool-page.ts";
import { withServer } from "../server/with-server.ts";
import { hanging } from "../output/wrapped.ts";
import { listTools, pickTool } from "./find-tool.ts";

interface ToolsCommand {
  readonly server: string;
  /** Shows only this tool, in full. */
  readonly tool: string | undefined;
  readonly options: WaitingOptions;
}

/** `holdfast tools SERVER [TOOL]` */
export async function tools(context: Context, { server, tool, options }: ToolsCommand): Promise<ExitCode> {
  const asked = await resolveServer(context, server, options);
  return withServer(context, { server: asked }, options, async ({ client, signal, terminal }) => {
    const found = await listTools(client, signal);
    terminal.display.end();
    if (found instanceof TaskClientError) throw found;
    const { output, state } = context;
    const { tools: listed, problems } = found;
    for (const problem of problems) output.note(`holdfast: ${problem}`);
    await state.noteTools(asked, listed);
    const shown = tool === undefined ? undefined : pickTool(tool, listed);
    const support = taskSupport(client);
    if (output.json) {
      const document: ToolsJson = {
        server: serverInfo(client),
        tools:
          shown === undefined
            ? listed.map((each) => toolJson(each, support(each)))
            : [{ ...toolJson(shown, support(shown)), example: exampleCall(asked.shown, shown) }],
      };
      await output.printJson(document);
    } else if (shown !== undefined) {
      const task = taskFact(support(shown));
      const example = exampleCall(asked.shown, shown);
      await output.print(toolPage({ tool: shown, task, example, columns: output.columns }));
    } else await output.print(listed.map((each) => toolLines(each, support(each), output.columns)).join(""));
    if (!output.json && listed.length + problems.length === 0)
      output.note("holdfast: the server has no tools");
    return exitCodes.done;
  });
}

/** Whether calls of a tool become tasks. Only protocol 2025-11-25 declares it per tool. */
export function taskSupport(client: TaskClient): (tool: Tool) => ToolJson["task"] {
  const { sdk } = client;
  if (sdk.getProtocolEra() === "modern") return () => "unknown";
  const hasTasks = declaredTasks(client) !== undefined;
  return ({ execution }) => (hasTasks ? (execution?.taskSupport ?? "forbidden") : "forbidden");
}

/** Whether a call becomes a task, in words; empty if unknown. */
function taskFact(task: ToolJson["task"]): string {
  if (task === "required") return "a call is always a task";
  if (task === "optional") return "a call can be a task";
  return task === "forbidden" ? "a call is never a task" : "";
}

function toolJson({ name, description, inputSchema }: Tool, task: ToolJson["task"]): ToolJson {
  return { name, ...(description !== undefined && { description }), task, inputSchema };
}

/** One line for the tool, and one for each of its arguments. */
function toolLines(
  { name, description = "", inputSchema }: Tool,
  task: ToolJson["task"],
  columns: number | undefined,
): string {
  const { properties, required, root } = readInputSchema(inputSchema);
  const [firstLine = ""] = description.trim().split("\n");
  const head = [name, firstLine, task === "required" || task === "optional" ? `(task: ${task})` : ""];
  const args = [...properties].map(([key, schema]) => {
    const type = describeType(schema, root);
    const about =
      typeof schema["description"] === "string" ? `  ${schema["description"].split("\n")[0]}` : "";
    return hanging(`    ${key}=${type}${required.includes(key) ? "" : "?"}${about}`, 8, columns);
  });
  return hanging(head.filter((part) => part !== "").join("  "), 6, columns) + args.join("");
}
