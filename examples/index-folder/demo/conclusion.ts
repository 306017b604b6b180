import { readFile } from "node:fs/promises";
import type { DemoSetup } from "./demo-setup.ts";
import { listedFiles, loadJournal } from "./journal.ts";
import { prove, type Evidence } from "./proof.ts";
import { loadReadLog } from "./read-log.ts";
import type { Screen } from "./screen.ts";
import type { Kill, StoryEnd } from "./story.ts";
import { timeline } from "./timeline.ts";

const mostLines = 40;

/** Shows the result of the task, and the proof; true if the proof holds. Throws the tool's error. */
export async function conclude(
  { taskId, result, kill }: StoryEnd,
  setup: DemoSetup,
  screen: Screen,
): Promise<boolean> {
  if (result.isError === true || kill === undefined) {
    throw new Error(
      result.content.map((block) => (block.type === "text" ? block.text : block.type)).join(" "),
    );
  }
  const { reportPath } = result.structuredContent as { reportPath: string };
  const lines = (await readFile(reportPath, "utf8")).trimEnd().split("\n");
  screen.scene(7, "The report:");
  screen.quote(lines.slice(0, mostLines));

  const evidence = loadEvidence(taskId, kill, setup);
  screen.scene(8, "What happened, from the journal and a log of all reads:");
  for (const line of timeline(evidence, kill)) screen.note(line);
  const claims = prove(evidence);
  for (const { holds, text } of claims) screen.claim(holds, text);
  const proved = claims.every(({ holds }) => holds);
  if (proved) showNextSteps(screen);
  return proved;
}

/** What is on disk when no server runs any more. */
export function loadEvidence(taskId: string, kill: Kill, setup: DemoSetup): Evidence {
  const journal = loadJournal(setup.database, taskId);
  return {
    listed: listedFiles(journal),
    reads: loadReadLog(setup.readLog),
    killedPid: kill.pid,
    journalAtKill: kill.journal,
    journal,
  };
}

function showNextSteps(screen: Screen): void {
  screen.scene(9, "To try next:");
  screen.note("npm run demo -- FOLDER    the same with a folder of yours");
  screen.note("npm run demo -- --page    the same, shown in a browser while the server is killed");
  screen.note("npm start                 serves index_folder to any MCP client");
  screen.note("README.md                 a server and a client of your own to paste");
}
