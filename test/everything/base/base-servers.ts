import { McpServer } from "@modelcontextprotocol/server";
import type { ServerFactory } from "holdfast";
import type { Changes } from "./changes.ts";
import { addChangeTools } from "./change-tools.ts";
import { addContentTools } from "./content-tools.ts";
import { addDiagnosticTools } from "./diagnostic-tools.ts";
import { addHeaderTool } from "./header-tool.ts";
import { addInputRequired } from "./input-required/add-input-required.ts";
import { addJsonSchemaTool } from "./json-schema-tool.ts";
import { addProgressTool } from "./progress-tool.ts";
import { addPrompts } from "./prompts.ts";
import { requestStates } from "./request-states.ts";
import { addResources } from "./resources.ts";
import { addSessionFeatures } from "./sessions/add-session-features.ts";

// Changes are announced, so lists may be cached for a while. If a list is not the same for everybody, Holdfast says so.
const listed = { ttlMs: 60_000, cacheScope: "public" } as const;

/** Makes the author's own servers: everything of MCP that is not a task, as on any server of the official SDK. */
export function baseServers(changes: Changes): ServerFactory {
  const states = requestStates();
  return ({ era }) => {
    const mcp = new McpServer(
      { name: "everything", version: "1.0.0" },
      {
        capabilities: { logging: {} },
        cacheHints: {
          "tools/list": listed,
          "prompts/list": listed,
          "resources/list": listed,
          "resources/templates/list": listed,
          "resources/read": { ttlMs: 60_000, cacheScope: "private" },
        },
        requestState: { verify: (state, context) => states.verify(state, context) },
      },
    );
    addContentTools(mcp);
    addProgressTool(mcp);
    addJsonSchemaTool(mcp);
    addResources(mcp);
    addPrompts(mcp);
    if (era === "legacy") {
      addSessionFeatures(mcp);
    } else {
      addHeaderTool(mcp);
      addDiagnosticTools(mcp);
      addChangeTools(mcp, changes);
      addInputRequired(mcp, states);
    }
    return mcp;
  };
}
