// Starts a server on a store that may not grow, as on a full disk: node full-at-start.ts PATH ID
import { RealRuntime } from "../../traps/real-runtime.ts";
import { text } from "../../runtime/harness.ts";
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";

const [, , path = "", id = ""] = process.argv;
const server = await RealRuntime.started(sqliteStore(path), { quick: () => text("quick") });
console.log(JSON.stringify((await server.get(id)).outcome));
console.log(await server.call("quick").catch((error: Error) => error.message));
await server.runtime.stop();
