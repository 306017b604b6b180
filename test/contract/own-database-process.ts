// Writes to a store on a database of its own until it is killed: node own-database-process.ts LOG OWNER. Each line tells what was
// acknowledged: the name of a task, and how many of its three writes.
import { storeOnTables } from "holdfast/store";
import { loggedDatabase } from "../../examples/own-database/logged-database.ts";
import { createRunning, noon } from "../../src/testing/sample-task.ts";

const [log = "", id = ""] = process.argv.slice(2);
const store = storeOnTables(loggedDatabase(log));
await store.open({ id, handlers: [] });

async function work(name: string): Promise<void> {
  const held = { now: noon, id: `task-${name}`, token: "t1" } as const;
  await store.write(createRunning(name));
  console.log(name, 1);
  await store.write({ ...held, type: "record_step", key: "step", value: `"${name}"`, error: null });
  console.log(name, 2);
  const outcome = { kind: "result", body: `"${name}"` } as const;
  await store.write({ ...held, type: "settle", outcome, statusMessage: "done" });
  console.log(name, 3);
}

for (let round = 0; ; round++)
  await Promise.all(Array.from({ length: 8 }, (_, place) => work(`${id}-${round}-${place}`)));
