import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { connect, type OnInput } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../server/durable-server.ts";
import { inCallersSpan } from "./calling.ts";
import { RecordedSpans } from "./recorded-spans.ts";
import { toldSpan, type ToldSpan } from "./told-span.ts";

interface Life {
  readonly url: string;
  readonly working: Promise<void>;
  readonly end: (signal: "SIGKILL" | "SIGTERM") => Promise<void>;
}

/** Starts a process of the server; `spans` gets those that it tells. */
async function startServer(
  spans: ToldSpan[],
  database: string,
  env: Readonly<Record<string, string>>,
): Promise<Life> {
  const script = fileURLToPath(new URL("traced-server.ts", import.meta.url));
  const child = spawn(process.execPath, [script, database], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const working = Promise.withResolvers<void>();
  const url = Promise.withResolvers<string>();
  const lines = createInterface(child.stdout);
  lines.on("line", (line) => {
    const told = JSON.parse(line) as { span?: ToldSpan; working?: true; url?: string };
    if (told.span !== undefined) spans.push(told.span);
    if (told.working === true) working.resolve();
    if (told.url !== undefined) url.resolve(told.url);
  });
  const end = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    const ended = Promise.all([once(child, "exit"), once(lines, "close")]);
    child.kill(signal);
    await ended;
  };
  return { url: await url.promise, working: working.promise, end };
}

/** Each span by its name, below its parent, in the order in which they ended. */
function treeOf(spans: readonly ToldSpan[], parent: string | undefined): string[] {
  return spans
    .filter(({ parentId }) => parentId === parent)
    .flatMap(({ name, attributes, spanId }) => {
      const end = attributes["holdfast.attempt.end"];
      const below = treeOf(spans, spanId).map((line) => `  ${line}`);
      return [typeof end === "string" ? `${name}: ${end}` : name, ...below];
    });
}

it("is one trace of a call whose server was killed, from the caller through both attempts to the result", async () => {
  const database = join(await temporaryFolder(), "tasks.db");
  const served: ToldSpan[] = [];
  const calling = new RecordedSpans();
  const { telemetry } = calling;
  const onInput: OnInput = async () => ({ action: "accept", content: {} });

  const first = await startServer(served, database, { LIFE: "1" });
  const client = await connect(first.url, { telemetry, onInput, listen: false, pollFloorMs: 50 });
  const { value, traceId } = await inCallersSpan(calling, async () => {
    const result = client.callTool("ship", {});
    await first.working;
    await first.end("SIGKILL");
    const second = await startServer(served, database, { LIFE: "2", PORT: new URL(first.url).port });
    const ended = await result;
    await second.end("SIGTERM");
    return ended;
  });
  await client.close();
  expect(value).toMatchObject({ content: [{ type: "text", text: "accept" }] });

  const all = [...calling.all.map(toldSpan), ...served].filter((span) => span.traceId === traceId);
  const ids = new Set(all.map(({ spanId }) => spanId));
  const unknown = all.filter(({ parentId }) => parentId !== undefined && !ids.has(parentId));
  expect(unknown).toEqual([]);
  const isPoll = (line: string): boolean => /tasks\/(?:get|update)/.test(line);
  const tree = treeOf(all, undefined);
  expect(tree.filter((line) => !isPoll(line))).toEqual([
    "caller",
    "  tools/call ship",
    "    tools/call ship",
    "      step build",
    "        compile",
    "      execute_tool ship: lost",
    "      step test",
    "      elicitation/create",
    "      execute_tool ship: settled",
    "  wait ship",
  ]);
  expect(tree).toEqual(expect.arrayContaining(["    tasks/get", "      tasks/get", "    tasks/update"]));
});
