// A client that calls and waits until it is killed: node client-process.ts URL FOLDER. Its calls are kept in the folder.
import { connect } from "holdfast/client";

const [url = "", folder = ""] = process.argv.slice(2);
const client = await connect(url, { protocolVersion: "2025-06-18", handles: folder });
await client.callTool("wait_for_door");
