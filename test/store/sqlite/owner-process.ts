// A process that has a store open until its input ends: node owner-process.ts PATH
// It prints `open ID`, and then in a line each what came of the commands that its input has in a line each:
// `run NAME` and `queue NAME` create a task, `get NAME` reads it, `renew` renews; `listen` prints what others change from then on.
import { createInterface } from "node:readline";
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { createQueued, createRunning } from "../../contract/sample-task.ts";
import { someOwner } from "./some-owner.ts";

const store = sqliteStore(process.argv[2] ?? "", { busyTimeoutMs: 1_000 });
const owner = someOwner();
await store.open(owner);
console.log(`open ${owner.id}`);

const commands: Readonly<Record<string, (name: string) => unknown>> = {
  run: (name) => store.write(createRunning(name)),
  queue: (name) => store.write(createQueued(name)),
  get: async (name) => (await store.get(`task-${name}`)) ?? null,
  renew: () => store.renew(),
  listen: () => {
    store.subscribe((changes, by) => {
      if (by === "others") console.log(JSON.stringify(changes));
    });
    return "listens";
  },
};

async function outcomeOf(line: string): Promise<unknown> {
  const [command = "", name = ""] = line.split(" ");
  try {
    return await commands[command]?.(name);
  } catch (error) {
    return { code: error instanceof Error && "code" in error ? error.code : null, message: String(error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await outcomeOf(line)));
}
await store.close();
