import { readdir, readFile } from "node:fs/promises";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { checkReplay, type JournalRecording } from "holdfast/testing";
import { addPublish } from "./changing-code.ts";

// The same tools as in the server. Nothing is started, and the store is not used.
const tasks = createTasks({ store: memoryStore() });
addPublish(tasks);

const folder = new URL("recordings/", import.meta.url);
for (const name of (await readdir(folder)).sort()) {
  const recording = JSON.parse(await readFile(new URL(name, folder), "utf8")) as JournalRecording;
  const { ok, problems, end } = await checkReplay(tasks, recording);
  console.log(`${name}: ${ok ? `goes on, and ${end}` : problems.join(" ")}`);
  if (!ok) process.exitCode = 1;
}
