import type { McpServer } from "@modelcontextprotocol/server";
import { text } from "../text.ts";
import type { Changes } from "./changes.ts";

/** A tool and a prompt that come and go, and what makes them. */
export function addChangeTools(mcp: McpServer, changes: Changes): void {
  mcp.registerTool(
    "test_trigger_tool_change",
    { description: "Adds the tool test_changing_tool, or removes it" },
    () => {
      changes.toggleTool();
      return text(changes.hasTool ? "added test_changing_tool" : "removed test_changing_tool");
    },
  );
  mcp.registerTool(
    "test_trigger_prompt_change",
    { description: "Adds the prompt test_changing_prompt, or removes it" },
    () => {
      changes.togglePrompt();
      return text(changes.hasPrompt ? "added test_changing_prompt" : "removed test_changing_prompt");
    },
  );
  if (changes.hasTool) {
    mcp.registerTool("test_changing_tool", { description: "Exists only some of the time" }, () =>
      text("here for now"),
    );
  }
  if (changes.hasPrompt) {
    mcp.registerPrompt("test_changing_prompt", { description: "Exists only some of the time" }, () => ({
      messages: [{ role: "user", content: { type: "text", text: "Here for now." } }],
    }));
  }
}
