import { createInterface } from "node:readline";
import { linesFor, misbehaviours } from "./misbehaviours.ts";

// A server over stdio with the fault whose number is its argument.
const fault = misbehaviours[Number(process.argv[2])];
if (fault === undefined) throw new Error("no such fault");
createInterface({ input: process.stdin }).on("line", (line) => {
  const lines = linesFor(JSON.parse(line) as object, fault);
  if (lines === "exit") process.exit(3);
  for (const each of lines) process.stdout.write(`${each}\n`);
});
