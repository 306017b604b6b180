// Creates tasks, several at a time, and prints the id of each one that was acknowledged: node write-forever.ts PATH.
// At the first write that fails it prints what became of all, and closes.
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { createQueued, sampleRequest } from "../../contract/sample-task.ts";
import { someOwner } from "./some-owner.ts";

const store = sqliteStore(process.argv[2] ?? "");
await store.open(someOwner());
console.log("open");

const request = { ...sampleRequest, arguments: JSON.stringify({ text: "x".repeat(2000) }) };

async function create(name: string): Promise<boolean> {
  try {
    await store.write({ ...createQueued(name), request });
    console.log(`kept task-${name}`);
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    console.log(`lost task-${name} ${code} ${String(error)}`);
    return false;
  }
}

let good = true;
for (let round = 0; good; round++) {
  const names = Array.from({ length: 10 }, (_, index) => `${round}-${index}`);
  good = (await Promise.all(names.map(create))).every(Boolean);
}
await store.close();
console.log("closed");
