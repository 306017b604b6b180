import { readdir, readFile, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { text } from "node:stream/consumers";
import type { JournalRecording } from "../../store/export-journal.ts";
import type { ReplayedJournal, replayHandler, ReplayReport } from "../../testing/replay-handler.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../errors.ts";
import type { Io } from "../io.ts";

/** `holdfast check JOURNALS… --tools FILE`: whether the code of the module continues the recorded tasks. */
export async function check(
  { io, output }: Context,
  { journals, options }: Given<"check">,
): Promise<ExitCode> {
  const read = await Promise.all(journals.map((journal) => readJournals(io, journal)));
  const recordings = read.flat();
  if (recordings.length === 0) throw new UsageError("There is no journal to check.");
  const report = await replay(resolve(io.cwd, options.tools), recordings);
  const code = report.ok ? exitCodes.done : exitCodes.failed;
  return output.say({ json: report, text: reportText(report), code });
}

/** By the Holdfast of the tools' project: that is what will run them. */
async function replay(file: string, recordings: readonly JournalRecording[]): Promise<ReplayReport> {
  const tested = await toolsIn(file);
  try {
    const { href } = pathToFileURL(createRequire(file).resolve("holdfast/testing"));
    const testing = (await import(href)) as { readonly replayHandler: typeof replayHandler };
    return await testing.replayHandler(tested, recordings);
  } catch (error) {
    if (isMissing(error))
      throw new UsageError(`The project of ${file} has no holdfast/testing: install Holdfast there.`);
    if (hasCode(error, "configuration")) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
}

async function toolsIn(file: string): Promise<Parameters<typeof replayHandler>[0]> {
  const module = await loaded(file);
  const names = Object.keys(module);
  const found = module["default"] ?? (names.length === 1 ? module[names[0] ?? ""] : undefined);
  if (typeof found === "function" || (typeof found === "object" && found !== null))
    return found as Parameters<typeof replayHandler>[0];
  throw new UsageError(
    `${file} must export one thing, or one by default: a function that adds the tools to the tasks that it gets, or what createTasks returned.`,
  );
}

async function loaded(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw new UsageError(
      `${file} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** Of a file with one recording or one a line, of all such files in a folder, or of stdin. */
async function readJournals({ cwd, stdin }: Io, given: string): Promise<readonly JournalRecording[]> {
  if (given === "-") return recordingsIn("stdin", await text(stdin));
  const path = resolve(cwd, given);
  try {
    if (!(await stat(path)).isDirectory()) return recordingsIn(given, await readFile(path, "utf8"));
    const names = (await readdir(path)).filter((name) => /\.jsonl?$/.test(name)).sort();
    const files = await Promise.all(names.map((name) => readFile(join(path, name), "utf8")));
    return files.flatMap((file, at) => recordingsIn(join(given, names[at] ?? ""), file));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `${given} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function recordingsIn(file: string, content: string): readonly JournalRecording[] {
  const whole = parsed(content);
  const lines = whole === undefined ? content.split("\n").filter((line) => line.trim() !== "") : [];
  const values = whole === undefined ? lines.map(parsed) : [whole].flat();
  for (const [at, value] of values.entries())
    if (!isRecording(value)) {
      const where = values.length === 1 ? file : `${file}, line ${at + 1},`;
      throw new UsageError(
        `${where} is no recording of a task: holdfast journal export and holdfast admin STORE export write them.`,
      );
    }
  return values as readonly JournalRecording[];
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

function isRecording(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && "format" in value && value.format === "holdfast-journal-1"
  );
}

/** By tool; tasks with the same problems are counted together. */
function reportText({ journals }: ReplayReport): string {
  const lines = [...Map.groupBy(journals, ({ tool }) => tool)].flatMap(([tool, all]) => {
    const fitting = all.filter(({ ok }) => ok).length;
    const wrong = Map.groupBy(
      all.filter(({ ok }) => !ok),
      ({ problems }) => problems.join(" "),
    );
    return [
      `${tool}: ${fitting} of ${all.length} ${all.length === 1 ? "task goes" : "tasks go"} on`,
      ...[...wrong].map(problemText),
    ];
  });
  return lines.map((line) => `${line}\n`).join("");
}

function problemText([problem, [first, ...others]]: readonly [string, readonly ReplayedJournal[]]): string {
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return `  ${first?.taskId}${more}: ${problem}`;
}

function isMissing(error: unknown): boolean {
  return hasCode(error, "MODULE_NOT_FOUND") || hasCode(error, "ERR_PACKAGE_PATH_NOT_EXPORTED");
}

/** Errors of another copy of Holdfast are of another class. */
function hasCode(error: unknown, code: string): error is Error {
  return error instanceof Error && "code" in error && error.code === code;
}
