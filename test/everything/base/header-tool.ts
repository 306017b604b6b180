import type { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { text } from "../text.ts";

const inputSchema = z.object({
  region: z.string().describe("Where to look").meta({ "x-mcp-header": "Region" }),
});

/** An argument that clients repeat in a header, for proxies that route by it; the two have to agree. */
export function addHeaderTool(mcp: McpServer): void {
  mcp.registerTool(
    "test_header_argument",
    { description: "Takes a region, as an argument and as the header Mcp-Param-Region", inputSchema },
    ({ region }) => text(`Looked in ${region}.`),
  );
}
