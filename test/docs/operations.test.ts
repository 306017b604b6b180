import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { attribute } from "../../src/telemetry/spans.ts";
import { metric } from "../../src/telemetry/metric.ts";
import { admin, ann, call, serve, somePlace } from "../cli/admin/some-place.ts";

const guide = await readFile(new URL("../../docs/operate/operations.md", import.meta.url), "utf8");

/** What the guide tells operators to type, without what is said about it. */
const commands = [...guide.matchAll(/^holdfast admin tasks\.db (.+)$/gm)].map(([, words = ""]) =>
  words.replace(/ +#.*$/, ""),
);

it("alerts are about metrics that there are", () => {
  const [, alerts = ""] = /\n## Alerts\n([^]*?)\n## /.exec(guide) ?? [];
  const named = [...alerts.matchAll(/`((?:holdfast|nodejs|error)\.[\w.]+)`/g)].map(([, name = ""]) => name);
  expect(named.length).toBeGreaterThan(10);
  const known = new Set<string>([
    ...Object.values(metric).map(({ name }) => name),
    ...Object.values(attribute),
  ]);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

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
  for (const command of commands) {
    // A task is retried once.
    const meant = command.startsWith("retry 01a208a31b79D8VM") ? await failing() : id;
    const words = command.replace("01a208a31b79D8VM", meant.slice(0, 20)).split(" ");
    said.set(command, await admin(place, ...words.map((word) => word.replaceAll("'", ""))));
  }
  expect(said.get("failures publish_report")).toContain("The archive is closed");
  expect(said.get(commands.find((command) => command.endsWith("--dry-run")) ?? "")).toBe(
    "1 task would be run again\n",
  );
  expect(said.get("delete 01a208a31b79D8VM")).toBe(`deleted ${id}\n`);
});
