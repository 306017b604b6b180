// An owner that begins a transaction at each line of its input, and ends it at the next: node committing-process.ts PATH
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { createRunning } from "../../contract/sample-task.ts";
import { someOwner } from "./some-owner.ts";

const path = process.argv[2] ?? "";
const store = sqliteStore(path);
await store.open(someOwner());
await store.write(createRunning("other"));
const db = new DatabaseSync(path, { timeout: 5_000 });
console.log("open");
for await (const _ of createInterface({ input: process.stdin })) {
  if (db.isTransaction) {
    db.exec("COMMIT");
    console.log("committed");
  } else {
    db.exec("BEGIN IMMEDIATE; UPDATE task SET status_message = 'in a commit'");
    console.log("begun");
  }
}
db.close();
await store.close();
