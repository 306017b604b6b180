import { memoryStore } from "../../src/memory.ts";
import { openSdkV1Tasks, type OnRestart } from "../../src/sdk-v1.ts";
import { sqliteStore } from "../../src/sqlite.ts";
import { serveSessions } from "./http.ts";
import { exampleServer } from "./tools.ts";

// The example server as a process of its own, to be killed: `node server-process.ts DATABASE fail|keep`. Its sessions
// belong to whoever the authorization header names.

const [, , database, onRestart] = process.argv;
const users = new Map<string, string>();

const durable = await openSdkV1Tasks({
  store: database === undefined ? memoryStore() : sqliteStore(database),
  onRestart: onRestart as Extract<OnRestart, string>,
  owner: (sessionId) => (sessionId === undefined ? undefined : users.get(sessionId)),
});
const http = await serveSessions(
  () => exampleServer(durable),
  (sessionId, { headers }) => users.set(sessionId, headers.authorization ?? "nobody"),
);
console.log(http.url.href);
