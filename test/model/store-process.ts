// Keeps a store in SQLite and does what it is told, until it is killed: node store-process.ts PATH.
// Each line of its input is a group of commands to write at once, or a look; each is answered by a line, in order.
import { createInterface } from "node:readline";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import { viewOfStore, type Look } from "./view.ts";

export type StoreRequest = { readonly commands: readonly TaskCommand[] } | { readonly look: Look };

const store = sqliteStore(process.argv[2] ?? "");
await store.open();

let answered = Promise.resolve();
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as StoreRequest;
  // Begun at once, while earlier groups still commit; only the answers wait for each other.
  const answer =
    "look" in request
      ? viewOfStore(store, request.look)
      : Promise.all(request.commands.map((command) => store.write(command)));
  answered = Promise.all([answer, answered]).then(([value]) => console.log(JSON.stringify(value)));
}
