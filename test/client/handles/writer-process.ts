// Uses a file of handles together with others: node writer-process.ts FILE NAME COUNT. Of each pair of calls it leaves
// one there, of the calls that all writers make none. Says so if it ever reads something broken.
import { fileHandles } from "holdfast/client";

const [file = "", name = "", count = "0"] = process.argv.slice(2);
const store = fileHandles(file);
const server = "http://127.0.0.1:3000/mcp";
const generation = "2026-07-28";

async function begin(key: string): Promise<{ server: string; generation: string; taskId: string }> {
  const reference = { server, generation, taskId: `task of ${key}` };
  const call = { key, server, generation, tool: "publish_report", args: { key }, startedAt: 0, taskId: null };
  await store.keep(call);
  await store.keep({ ...call, taskId: reference.taskId });
  return reference;
}

for (let index = 0; index < Number(count); index++) {
  const left = await begin(`${name} ${index} stays`);
  await store.keepAnswer(left, "approve", { action: "accept", content: { by: name } });
  const dropped = await begin(`${name} ${index} goes`);
  await store.keepAnswer(dropped, "approve", { action: "decline" });
  const { damaged, calls } = await store.list();
  for (const entry of damaged) process.stdout.write(`damaged ${entry.name}\n`);
  if (!calls.some(({ taskId }) => taskId === dropped.taskId)) process.stdout.write(`lost ${name} ${index}\n`);
  await store.dropTask(dropped);
  await store.dropTask(await begin(`${index} of all`));
}
