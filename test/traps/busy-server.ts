// A server that takes new tasks all the time until it is killed: node busy-server.ts PATH
// Prints `accepted ID` for each acknowledged task and `kept ID KEY VALUE` for each journalled step.
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { randomUUID } from "node:crypto";
import { RealRuntime } from "./real-runtime.ts";
import { busyTool } from "./busy-tool.ts";

const server = await RealRuntime.started(sqliteStore(process.argv[2] ?? ""), {
  busy: busyTool(
    () => randomUUID(),
    (line) => console.log(line),
  ),
});
for (;;) {
  const ids = await Promise.all(Array.from({ length: 8 }, () => server.call("busy")));
  for (const id of ids) console.log(`accepted ${id}`);
  for (const id of ids.slice(1)) await server.ended(id);
}
