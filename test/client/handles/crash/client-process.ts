// A client that dies where it is told to: node client-process.ts URL FOLDER POINT VERSION [MONTH]. It takes up what an earlier
// one left, then makes a call of its own if it is given a month. What it prints is there before anything follows.
import { writeSync } from "node:fs";
import { connect, fileHandles, type HandleStore, type OnInput } from "holdfast/client";

const [url = "", folder = "", point = "", version = "", month] = process.argv.slice(2);

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

function reach(name: string): void {
  if (name === point) process.kill(process.pid, "SIGKILL");
}

const files = fileHandles(folder);
const handles: HandleStore = {
  list: async () => files.list(),
  usesSession: async (session) => files.usesSession(session),
  keepSession: async (session) => files.keepSession(session),
  findSession: async (server, generation) => files.findSession(server, generation),
  dropSession: async (session) => files.dropSession(session),
  find: async (task) => files.find(task),
  drop: async (call) => files.drop(call),
  answer: async (task, question) => files.answer(task, question),
  keep: async (call) => {
    const what = call.taskId !== null ? "the task" : call.round !== undefined ? "the round" : "the call";
    reach(`before ${what} is kept`);
    const isNew = await files.keep(call);
    if (call.round !== undefined)
      for (const key of Object.keys(call.round.inputResponses ?? {})) say(`kept ${key}`);
    reach(`after ${what} is kept`);
    return isNew;
  },
  keepAnswer: async (task, question, answer) => {
    reach("before the answer is kept");
    await files.keepAnswer(task, question, answer);
    say(`kept ${question}`);
    reach("after the answer is kept");
  },
  dropTask: async (task) => {
    reach("before the task is dropped");
    await files.dropTask(task);
    reach("after the task is dropped");
  },
};

const onInput: OnInput = async ({ key, taskId }) => {
  say(`asked ${key}`);
  reach(taskId === null ? "while the call asks" : "while the task asks");
  return { action: "accept", content: { ok: true } };
};

const inEarlier = version === "2025-11-25" && ({ protocolVersion: version } as const);
const client = await connect(url, { handles, onInput, pollFloorMs: 1, ...inEarlier });
const onUpdate = (): void => reach("while it waits");
for (const call of await client.pending()) {
  const handle = await call.take();
  for await (const task of handle.updates()) if (task.status !== "completed") onUpdate();
  say(`result ${JSON.stringify((await handle.result()).content)}`);
}
if (month !== undefined) {
  const { content } = await client.callTool("publish_report", { month }, { onUpdate });
  say(`result ${JSON.stringify(content)}`);
}
await client.close();
