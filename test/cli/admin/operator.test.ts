import { describe, expect, it } from "vitest";
import type { FailureGroup } from "../../../src/admin/incident-operations.ts";
import type { TaskDetails, TaskPage } from "../../../src/admin/admin.ts";
import type { BulkResult } from "../../../src/admin/task-operations.ts";
import { fullForm } from "../../full-form.ts";
import { holdfast } from "../run-cli.ts";
import { copyTask } from "./many-failed.ts";
import { call, kinds, serve, somePlace, type Kind, type Place } from "./some-place.ts";

/** That both stores do the same is what the tests of each command show. */
const places = fullForm ? kinds : (["SQLite"] as const);
const failed = 1_000;
const others = fullForm ? 999_000 : 1_000;
const minutes = 60_000 * (fullForm ? 20 : 2);

/** `holdfast admin PLACE …` as an operator runs it: another process than the server. */
async function admin<T>({ url, cwd }: Place, ...words: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await holdfast(["admin", url, ...words, "--json"], { cwd });
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}: ${stderr}${stdout}`);
  return JSON.parse(stdout) as T;
}

/** A store with many tasks, a thousand of which a tool has failed, and a server that has the tool in order. */
async function damaged(kind: Kind): Promise<Place> {
  const place = await somePlace(kind);
  const before = await serve(place, (tools) => {
    tools.add("export", {}, ({ host }) => {
      if (host === 0) return { content: [] };
      throw new Error(host === 1 ? "The disk of host-17 is full" : "No route to host-4");
    });
    tools.add("mail", {}, () => ({ content: [] }));
  });
  const ids: readonly string[] = [
    await call(before, "export", { host: 0 }),
    await call(before, "export", { host: 1 }),
    await call(before, "export", { host: 2 }),
    await call(before, "mail"),
  ];
  for (const id of ids)
    await expect
      .poll(async () => (await before.get(id, { generation: "2026-07-28", principal: "ann" })).task.state)
      .toBe("settled");
  await before.stop();
  const [exported = "", full = "", unreachable = "", mail = ""] = ids;
  await copyTask(place, mail, 0, others / 2 - 1);
  await copyTask(place, full, 1_000_000, failed - 101);
  await copyTask(place, unreachable, 2_000_000, 99);
  await copyTask(place, exported, 3_000_000, others / 2 - 1);
  await serve(place, (tools) => {
    tools.add("export", {}, () => ({ content: [{ type: "text", text: "exported" }] }));
    tools.add("mail", {}, () => ({ content: [] }));
  });
  return place;
}

describe.each(places)(`an operator of ${failed + others} tasks on %s`, (kind) => {
  it(
    "finds why a tool fails, runs a thousand tasks again, and sees them end",
    { timeout: minutes },
    async () => {
      const place = await damaged(kind);
      const times: string[] = [];
      const timed = async <T>(...words: readonly string[]): Promise<T> => {
        const began = performance.now();
        const answer = await admin<T>(place, ...words);
        times.push(`${words.join(" ")}: ${Math.round(performance.now() - began)} ms`);
        return answer;
      };

      const { failures } = await timed<{ readonly failures: readonly FailureGroup[] }>("failures", "export");
      expect(failures.map(({ message, count }) => [message, count])).toEqual([
        ["The disk of … is full", failed - 100],
        ["No route to …", 100],
      ]);
      const one = await timed<TaskDetails>("show", failures[0]?.taskId ?? "");
      expect(one).toMatchObject({ tool: "export", state: "failed", error: "The disk of host-17 is full" });
      const page = await timed<TaskPage>("list", "--tool", "export", "--state", "failed", "--limit", "20");
      expect(page.tasks).toHaveLength(20);
      expect((await timed<TaskPage>("list", "--limit", "1500")).tasks).toHaveLength(1_500);

      const selected = ["retry", "--all", "--tool", "export", "--state", "failed"];
      const { done: meant } = await timed<BulkResult>(...selected, "--dry-run");
      expect(meant).toHaveLength(failed);
      const { done, created, refused } = await timed<BulkResult>(...selected, "--as", "eve", "--yes");
      expect([done, created.length, refused]).toEqual([meant, failed, []]);

      const open = [
        "list",
        "--tool",
        "export",
        "--state",
        "queued",
        "--state",
        "running",
        "--state",
        "waiting",
      ];
      const left = async (): Promise<number> => (await timed<TaskPage>(...open)).tasks.length;
      await expect.poll(left, { timeout: minutes, interval: 2_000 }).toBe(0);
      const newest = await timed<TaskPage>("list", "--tool", "export", "--limit", String(failed));
      expect(newest.tasks.filter(({ state }) => state === "completed")).toHaveLength(failed);
      expect(new Set(newest.tasks.map(({ id }) => id))).toEqual(new Set(created));
      expect(await timed<TaskDetails>("show", created[0] ?? "")).toMatchObject({
        state: "completed",
        retryOf: done[0],
      });
      expect(await timed<TaskDetails>("show", done[0] ?? "")).toMatchObject({
        state: "failed",
        actions: [{ actor: "eve", action: "retry", detail: { ranAgainAs: created[0] } }],
      });
      const { tools } = await timed<{ readonly tools: unknown }>("counts");
      expect(tools).toMatchObject([{ tool: "export", queued: 0, running: 0, failed }, { tool: "mail" }]);
      if (fullForm) console.log(times.join("\n"));
    },
  );
});
