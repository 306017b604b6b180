import { ResourceTemplate, type McpServer } from "@modelcontextprotocol/server";
import { image } from "./samples.ts";

/** A text, some bytes, and one that is made from its URI. */
export function addResources(mcp: McpServer): void {
  mcp.registerResource(
    "static-text",
    "test://static-text",
    { description: "A text that never changes", mimeType: "text/plain" },
    ({ href: uri }) => ({
      contents: [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }],
    }),
  );
  mcp.registerResource(
    "static-binary",
    "test://static-binary",
    { description: "A picture that never changes", mimeType: image.mimeType },
    ({ href: uri }) => ({ contents: [{ uri, mimeType: image.mimeType, blob: image.data }] }),
  );
  mcp.registerResource(
    "template-data",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { description: "Data of the id in its URI", mimeType: "application/json" },
    ({ href: uri }, { id }) => ({
      contents: [
        {
          uri,
          mimeType: "application/json",
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
}
