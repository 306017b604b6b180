// A client that calls and waits until it is killed: node client-process.ts URL FILE. Its calls are kept in the file.
import { connect } from "holdfast/client";

const [url = "", file = ""] = process.argv.slice(2);
const client = await connect(url, { protocolVersion: "2025-06-18", handles: file });
await client.callTool("wait_for_door");
