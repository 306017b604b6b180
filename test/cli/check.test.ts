import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { exportJournal, type JournalRecording } from "../../src/store/export-journal.ts";
import { Process, text, type Handler } from "../runtime/harness.ts";
import { folder, holdfast, root } from "./run-cli.ts";

const slow = { timeout: 60_000 };
const question = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };

const publish: Handler = async (_args, task) => {
  await task.step("rows", () => 2);
  const { action } = await task.elicit("approve", question);
  return text(action);
};

/** Tasks that wait for an answer. */
async function waiting(count: number): Promise<readonly JournalRecording[]> {
  const process = await Process.started({ tools: { publish, send: publish } });
  const recordings: JournalRecording[] = [];
  for (let n = 0; n < count; n++) {
    const id = await process.callId(n === 0 ? "send" : "publish");
    await process.asked(id);
    recordings.push(await exportJournal(process.store, id));
  }
  return recordings;
}

/** A project with Holdfast, and a module with the tool `publish`, whose step and question are these. */
async function project(step: string, more = ""): Promise<string> {
  const cwd = await folder();
  await mkdir(join(cwd, "node_modules"));
  await symlink(root, join(cwd, "node_modules/holdfast"));
  await writeFile(
    join(cwd, "tools.ts"),
    `import type { Tasks } from "holdfast";
const question = ${JSON.stringify(question)};
export function addTools(tasks: Tasks): void {
  for (const name of ["publish", "send"])
    tasks.tool(name, {}, async (_args: unknown, task) => {
      ${more}
      await task.step("${step}", () => { throw new Error("a step has run"); });
      const { action } = await task.elicit("approve", question as never);
      return action;
    });
}
`,
  );
  return cwd;
}

const lines = (recordings: readonly JournalRecording[]): string =>
  recordings.map((recording) => `${JSON.stringify(recording)}\n`).join("");

it("says which tasks go on with the code, and what of their journals it has lost", slow, async () => {
  const recordings = await waiting(3);
  const cwd = await project("rows");
  await writeFile(join(cwd, "tasks.jsonl"), lines(recordings));
  const checked = await holdfast(["check", "tasks.jsonl", "--tools", "tools.ts"], { cwd });
  expect(checked).toEqual({
    code: 0,
    stdout: "send: 1 of 1 task goes on\npublish: 2 of 2 tasks go on\n",
    stderr: "",
  });
  const [, second] = recordings;
  const renamed = await holdfast(["check", "-", "--tools", join(await project("records"), "tools.ts")], {
    input: lines(recordings.slice(1)),
  });
  const lost =
    'The handler does not reach "rows", which is in the journal. Was it renamed to "records"? The handler does not reach "approve", which is in the journal.';
  expect(renamed).toEqual({
    code: 3,
    stdout: `publish: 0 of 2 tasks go on\n  ${second?.taskId} and 1 more: ${lost}\n`,
    stderr: "",
  });
  const declared = await project("records", 'task.renamed({ rows: "records" });');
  const fits = await holdfast(["check", join(cwd, "tasks.jsonl"), "--tools", "tools.ts"], { cwd: declared });
  expect(fits).toMatchObject({ code: 0 });
});

it("reads folders of recordings, and prints the report as JSON", slow, async () => {
  const [first, second] = await waiting(2);
  const cwd = await project("rows", "if (task.id === undefined) return;");
  await mkdir(join(cwd, "recordings"));
  await writeFile(join(cwd, "recordings/a.json"), JSON.stringify(first, undefined, 2));
  const gone = { ...second, tool: "gone" };
  await writeFile(join(cwd, "recordings/b.json"), JSON.stringify(gone));
  await writeFile(join(cwd, "recordings/notes.txt"), "no recording");
  const { code, stdout } = await holdfast(["check", "recordings", "--tools", "tools.ts", "--json"], { cwd });
  expect([code, JSON.parse(stdout)]).toMatchObject([
    3,
    {
      ok: false,
      journals: [
        { taskId: first?.taskId, tool: "send", ok: true, problems: [], unreached: [], end: "waits" },
        {
          taskId: second?.taskId,
          tool: "gone",
          ok: false,
          problems: ['These tasks have no tool "gone".'],
          unreached: ["rows", "approve"],
          end: "blocked",
        },
      ],
    },
  ]);
});

it("takes tasks, and functions that are exported by default among others", slow, async () => {
  const [recording] = await waiting(1);
  const cwd = await project("rows");
  await writeFile(join(cwd, "task.json"), JSON.stringify(recording));
  await writeFile(
    join(cwd, "tasks.js"),
    `import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { addTools } from "./tools.ts";
export const tasks = createTasks({ store: memoryStore() });
addTools(tasks);
`,
  );
  await writeFile(join(cwd, "both.js"), 'export { addTools, addTools as default } from "./tools.ts";\n');
  for (const tools of ["tasks.js", "both.js"])
    expect(await holdfast(["check", "task.json", "--tools", tools], { cwd })).toMatchObject({ code: 0 });
});

it("says what is wrong with a file, and changes nothing", slow, async () => {
  const [recording] = await waiting(1);
  const cwd = await project("rows");
  await writeFile(join(cwd, "task.json"), JSON.stringify(recording));
  await writeFile(join(cwd, "bad.jsonl"), `${JSON.stringify(recording)}\n{"format":"other"}\n`);
  await writeFile(join(cwd, "two.js"), "export const one = 1, two = 2;\n");
  await writeFile(join(cwd, "throws.js"), 'throw new Error("no database");\n');
  await mkdir(join(cwd, "empty"));
  const bare = await folder();
  await writeFile(join(bare, "tools.js"), "export default () => undefined;\n");
  const cases: readonly (readonly [journal: string, tools: string, problem: RegExp])[] = [
    ["none.json", "tools.ts", /none\.json cannot be read: ENOENT/],
    ["bad.jsonl", "tools.ts", /bad\.jsonl, line 2, is no recording of a task/],
    ["tools.ts", "tools.ts", /tools\.ts, line 1, is no recording/],
    ["empty", "tools.ts", /There is no journal to check/],
    ["task.json", "two.js", /two\.js must export one thing, or one by default/],
    ["task.json", "throws.js", /throws\.js cannot be loaded: no database/],
    ["task.json", "none.js", /none\.js cannot be loaded/],
    ["task.json", join(bare, "tools.js"), /has no holdfast\/testing/],
  ];
  for (const [journal, tools, problem] of cases) {
    const run = await holdfast(["check", journal, "--tools", tools], { cwd });
    expect([journal, tools, run]).toMatchObject([journal, tools, { code: 2, stdout: "" }]);
    expect(run.stderr).toMatch(problem);
  }
});
