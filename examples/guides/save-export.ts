import { basename } from "node:path";
import { connect } from "holdfast/client";

const client = await connect(process.argv[2] ?? "http://127.0.0.1:3000/mcp");

const { content } = await client.callTool("export_rows", { count: 100_000 });
for (const block of content) {
  if (block.type !== "resource_link") continue;
  const saved = await client.saveArtifact(block.uri, basename(block.name));
  console.log(`${saved.path}: ${saved.bytes} bytes of ${saved.mimeType}`);
}
await client.close();
