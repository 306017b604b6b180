import { connect, fileLogins } from "holdfast/client";

// One process among several with the same login: it calls a tool, and says by its exit code whether it could.
const [url = "", folder = ""] = process.argv.slice(2);
const client = await connect(url, { auth: fileLogins(folder) });
await client.callTool("shout", { word: "a" });
await client.close();
