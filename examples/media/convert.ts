// Stands in for a converter: node convert.ts SOURCE TARGET. It prints how far it is, and waits as long as there is a file named SOURCE.wait.
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

const [source = "", target = ""] = process.argv.slice(2);
const text = await readFile(source, "utf8");
await writeFile(target, "");
console.log("converts 0%");
while (existsSync(`${source}.wait`)) await pause(20);
await writeFile(target, text.toUpperCase());
console.log("converts 100%");
