// Draws docs/demo.svg from a run of the demo: npm run docs:demo
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadEvidence } from "../examples/index-folder/demo/conclusion.ts";
import { demoSetup } from "../examples/index-folder/demo/demo-setup.ts";
import type { Evidence } from "../examples/index-folder/demo/proof.ts";
import { Screen } from "../examples/index-folder/demo/screen.ts";
import { Story, type Kill } from "../examples/index-folder/demo/story.ts";

type Style = "client" | "server" | "kept" | "lost" | "after";

interface Span {
  readonly from: number;
  readonly to: number;
  readonly style: Style;
}

const width = 880;
const left = 92;
const right = width - 24;
const clientY = 58;
const serverY = 110;
const readsY = 172;
const laneHeight = 17;

// Its own background makes it readable on any page; the colours follow the reader's light or dark mode.
const styles = `
  .card { fill: #ffffff; stroke: #d0d7de }
  text { font: 14px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .row { font-weight: 600 }
  .axis, .note { fill: #59636e }
  .inside { fill: #ffffff; font-weight: 600 }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .client { fill: #8250df }
  .server { fill: #57606a }
  .kept { fill: #1a7f37 }
  .after { fill: #0969da }
  .lost { fill: none; stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 4 3 }
  .kill { stroke: #cf222e; stroke-width: 2 }
  .killed { fill: #cf222e; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #3d444d }
    text { fill: #f0f6fc }
    .axis, .note { fill: #9198a1 }
    .inside { fill: #0d1117 }
    .grid { stroke: #30363d }
    .client { fill: #ab7df8 }
    .server { fill: #9198a1 }
    .kept { fill: #3fb950 }
    .after { fill: #4493f8 }
    .lost, .kill { stroke: #f85149 }
    .killed { fill: #f85149 }
  }
`;

/** The picture of one run: the client's wait, the two servers, and every read of a file. */
export function drawDemo(evidence: Evidence, { startedAt, killedAt, restartedAt }: Kill): string {
  const { journal, listed } = evidence;
  const endedAt = journal.finishedAt ?? restartedAt;
  const answeredAt = journal.entries.find(({ key }) => key === "write_report")?.doneAt ?? endedAt;
  const x = (at: number): number => {
    const share = (at - startedAt) / (endedAt - startedAt);
    return Math.round((left + share * (right - left)) * 10) / 10;
  };
  const bar = (span: Span, y: number, height: number): string =>
    `<rect class="${span.style}" x="${x(span.from)}" y="${y}" width="${Math.max(2, x(span.to) - x(span.from)).toFixed(1)}" height="${height}" rx="3"/>`;
  const text = (at: number, y: number, words: string, style = "", anchor = "start"): string =>
    `<text x="${at}" y="${y}" class="${style}" text-anchor="${anchor}">${escape(words)}</text>`;

  const lanes = inLanes(readSpans(evidence, killedAt, answeredAt));
  const below = readsY + lanes.length * laneHeight;
  const counts = Object.groupBy(lanes.flat(), ({ style }) => style);
  const count = (style: Style): number => counts[style]?.length ?? 0;
  const seconds = Array.from({ length: Math.floor((endedAt - startedAt) / 1_000) + 1 }, (_, n) => n);
  const height = below + 96;

  const lines = [
    ...seconds.map((n) => {
      const at = x(startedAt + n * 1_000);
      return `<line class="grid" x1="${at}" x2="${at}" y1="42" y2="${below + 4}"/>${text(at, below + 22, `${n} s`, "axis", "middle")}`;
    }),
    text(20, clientY + 20, "client", "row"),
    bar({ from: journal.createdAt, to: endedAt, style: "client" }, clientY, 28),
    text(x(journal.createdAt) + 10, clientY + 19, "calls a tool, gets a task id", "inside"),
    text(x(killedAt) + 10, clientY + 19, "waits", "inside"),
    text(x(endedAt) - 10, clientY + 19, "result", "inside", "end"),
    text(20, serverY + 20, "server", "row"),
    bar({ from: startedAt, to: killedAt, style: "server" }, serverY, 28),
    text(x(startedAt) + 10, serverY + 19, "process 1", "inside"),
    bar({ from: restartedAt, to: endedAt, style: "server" }, serverY, 28),
    text(x(restartedAt) + 10, serverY + 19, "process 2", "inside"),
    `<line class="kill" x1="${x(killedAt)}" x2="${x(killedAt)}" y1="38" y2="${below + 4}"/>`,
    text(x(killedAt), 30, "SIGKILL", "killed", "middle"),
    text(20, readsY + 14, "files", "row"),
    ...lanes.flatMap((spans, lane) => spans.map((span) => bar(span, readsY + lane * laneHeight, 12))),
    ...legend(below + 50, [
      ["kept", `${count("kept")} in the journal, never read again`],
      ["lost", `${count("lost")} interrupted, read again`],
      ["after", `${count("after")} read after the restart`],
    ]),
    text(
      left,
      below + 78,
      `${listed.length} files, one task, two processes. The client waited throughout.`,
      "note",
    ),
  ];
  const label = `A call that outlives its server: ${count("kept")} of ${listed.length} files were read before the kill, and only the others after it.`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(label)}">
<style>${styles}</style>
<rect class="card" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
${lines.join("\n")}
</svg>
`;
}

/** A span for each read, in the order of their starts. */
function readSpans({ reads, killedPid }: Evidence, killedAt: number, end: number): Span[] {
  return reads
    .filter(({ event }) => event === "begin")
    .map(({ pid, path, at }): Span => {
      const kept = reads.find((read) => read.pid === pid && read.path === path && read.event === "kept");
      if (pid !== killedPid) return { from: at, to: kept?.at ?? end, style: "after" };
      return kept === undefined
        ? { from: at, to: killedAt, style: "lost" }
        : { from: at, to: kept.at, style: "kept" };
    });
}

/** Overlapping spans go into different lanes. */
function inLanes(spans: readonly Span[]): Span[][] {
  const lanes: Span[][] = [];
  for (const span of spans) {
    const free = lanes.find((lane) => (lane.at(-1)?.to ?? 0) <= span.from);
    if (free === undefined) lanes.push([span]);
    else free.push(span);
  }
  return lanes;
}

function legend(y: number, entries: readonly (readonly [Style, string])[]): string[] {
  const columns = [left, 400, 596];
  return entries.map(([style, words], index) => {
    const at = columns[index] ?? left;
    return `<rect class="${style}" x="${at}" y="${y - 11}" width="20" height="12" rx="3"/><text x="${at + 28}" y="${y}">${escape(words)}</text>`;
  });
}

function escape(words: string): string {
  return words.replace(/[<&"]/g, (character) => `&#${character.codePointAt(0)};`);
}

async function run(): Promise<void> {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-demo-")));
  process.on("exit", () => rmSync(workspace, { recursive: true, force: true }));
  const setup = demoSetup(workspace, {});
  const folder = fileURLToPath(new URL("../src/store", import.meta.url));
  const screen = new Screen(process.stdout, process.env);
  const story = new Story({
    folder,
    setup,
    screen,
    onServer: (server) => void process.on("exit", () => server.killNow()),
  });
  const { taskId, kill } = await story.tell();
  if (kill === undefined) throw new Error("The task ended before its server was killed.");
  await writeFile(
    new URL("../docs/demo.svg", import.meta.url),
    drawDemo(loadEvidence(taskId, kill, setup), kill),
  );
}

// Not when a test imports this.
if (import.meta.main) await run();
