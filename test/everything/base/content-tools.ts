import type { McpServer } from "@modelcontextprotocol/server";
import { text } from "../text.ts";
import { audio, image } from "./samples.ts";

/** A tool for each kind of content that a result can have. */
export function addContentTools(mcp: McpServer): void {
  mcp.registerTool("test_simple_text", { description: "Returns a text" }, () =>
    text("This is a simple text response for testing."),
  );
  mcp.registerTool("test_image_content", { description: "Returns an image" }, () => ({ content: [image] }));
  mcp.registerTool("test_audio_content", { description: "Returns a sound" }, () => ({ content: [audio] }));
  mcp.registerTool("test_embedded_resource", { description: "Returns a resource" }, () => ({
    content: [
      {
        type: "resource",
        resource: {
          uri: "test://embedded-resource",
          mimeType: "text/plain",
          text: "This is an embedded resource content.",
        },
      },
    ],
  }));
  mcp.registerTool(
    "test_multiple_content_types",
    { description: "Returns a text, an image and a resource" },
    () => ({
      content: [
        { type: "text", text: "Multiple content types test:" },
        image,
        {
          type: "resource",
          resource: {
            uri: "test://mixed-content-resource",
            mimeType: "application/json",
            text: '{"test":"data","value":123}',
          },
        },
      ],
    }),
  );
  mcp.registerTool(
    "test_error_handling",
    { description: "Throws an error, which becomes a result with isError" },
    () => {
      throw new Error("This tool intentionally returns an error for testing");
    },
  );
}
