import { readdir, readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { admin, ann, call, serve, somePlace, type Place } from "../cli/admin/some-place.ts";
import { runMain } from "../cli/run-main.ts";

const page = (name: string): Promise<string> =>
  readFile(new URL(`../../docs/operate/${name}.md`, import.meta.url), "utf8");

/** What a page tells operators to type, without what is said about it. */
const commandsOf = (guide: string): string[] =>
  [...guide.matchAll(/^holdfast admin tasks\.db (.+)$/gm)].map(([, words = ""]) =>
    words.replace(/ +#.*$/, ""),
  );

/** The pages that tell one story, in the order in which it is told. */
const story = await Promise.all(["runbooks/tool-fails", "operations", "backups"].map(page));
const commands = story.flatMap(commandsOf);

it("commands of the guide for operators do what it says", { timeout: 60_000 }, async () => {
  const place = await somePlace("SQLite");
  const runtime = await serve(place, (tools) =>
    tools.add("publish_report", {}, async (_args, task) => {
      await task.step("render", () => 1);
      throw new Error("The archive is closed");
    }),
  );
  const failing = async (): Promise<string> => {
    const failed = await call(runtime, "publish_report", { month: "2026-10" });
    await expect.poll(async () => (await runtime.get(failed, ann)).task.state).toBe("settled");
    return failed;
  };
  const id = await failing();
  expect(commands.length).toBeGreaterThan(15);
  const said = new Map<string, string>();
  let cause = "";
  for (const command of commands) {
    // A task is retried once.
    const meant = command.startsWith("retry 01a208a31b79D8VM") ? await failing() : id;
    if (command === "incidents") cause = await causeIn(place);
    const named = command.replace("01a208a31b79D8VM", meant.slice(0, 20)).replace("CAUSE", cause);
    const words = named.split(" ");
    said.set(command, await admin(place, ...words.map((word) => word.replaceAll("'", ""))));
  }
  expect(said.get("failures publish_report")).toContain("The archive is closed");
  expect(said.get(commands.find((command) => command.endsWith("--dry-run")) ?? "")).toBe(
    "1 task would be run again\n",
  );
  expect(said.get("delete 01a208a31b79D8VM")).toBe(`deleted ${id}\n`);
});

async function causeIn(place: Place): Promise<string> {
  const { incidents } = JSON.parse(await admin(place, "incidents", "--json")) as {
    readonly incidents: readonly { readonly cause: string }[];
  };
  return incidents[0]?.cause ?? "";
}

it("every command of a runbook is one, and no runbook is longer than its incident allows", async () => {
  const folder = new URL("../../docs/operate/runbooks/", import.meta.url);
  const names = (await readdir(folder)).filter((name) => name !== "index.md");
  expect(names.length).toBeGreaterThan(10);
  const help = await runMain(["admin", "--help"], {});
  for (const name of names) {
    const text = await readFile(new URL(name, folder), "utf8");
    expect([name, text.split(/\s+/).length]).toEqual([
      name,
      expect.toSatisfy((words: number) => words <= 900),
    ]);
    expect([name, text]).toEqual([name, expect.stringMatching(/^# .+[^]*^## Check$/m)]);
    for (const [, command = ""] of text.matchAll(/holdfast admin \S+\.?\S* ([a-z][a-z-]+)/g))
      expect([name, help.stdout]).toEqual([name, expect.stringMatching(new RegExp(`\\b${command}\\b`))]);
  }
});
