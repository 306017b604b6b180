// Opens a store, writes, waits for nothing and closes nothing: node forget-store.ts PATH
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { createQueued } from "../../contract/sample-task.ts";
import { someOwner } from "./some-owner.ts";

const store = sqliteStore(process.argv[2] ?? "");
await store.open(someOwner());
await store.write(createQueued("a"));
void store.write(createQueued("b")).then(() => console.log("kept"));
