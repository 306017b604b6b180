// A process that owns a store until its input ends: node hold-store.ts PATH
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";

const store = sqliteStore(process.argv[2] ?? "");
await store.open();
console.log("open");
process.stdin.resume();
process.stdin.on("end", () => void store.close());
