// Renews an owner while its process can open no more files, and again when it can: node exhausted-process.ts PATH
import { closeSync, openSync } from "node:fs";
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { someOwner } from "./some-owner.ts";

const [, program = "", path = ""] = process.argv;
const store = sqliteStore(path);
await store.open(someOwner());
await store.renew(); // whatever is opened once is by now

const opened: number[] = [];
try {
  for (;;) opened.push(openSync(program, "r"));
} catch {
  // There are no more.
}
const refusal = await store.renew().then(JSON.stringify, (error: { readonly code: string }) => error.code);
for (const file of opened) closeSync(file);
console.log(refusal);
console.log(JSON.stringify(await store.renew()));
await store.close();
