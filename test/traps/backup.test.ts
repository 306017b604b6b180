import { backup, DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { bodyOf } from "../runtime/harness.ts";
import { runChild, type Child } from "../store/sqlite/child.ts";
import { useTempDirectory } from "../store/sqlite/temp-directory.ts";
import { busyTool } from "./busy-tool.ts";
import { RealRuntime } from "./real-runtime.ts";

const temp = useTempDirectory();
const program = new URL("./busy-server.ts", import.meta.url);

/** What a server has acknowledged so far: tasks by id, and their journalled values by key. */
async function readLines(
  child: Child,
  count: number,
): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  const tasks = new Map<string, Map<string, string>>();
  for (let line = 0; line < count; line++) {
    const [word, id = "", key = "", value = ""] = (await child.line()).split(" ");
    const values = tasks.get(id) ?? new Map<string, string>();
    tasks.set(id, values);
    if (word === "kept") values.set(key, value);
  }
  return tasks;
}

test.each<[string, (from: DatabaseSync, to: string) => Promise<unknown> | void]>([
  ["VACUUM INTO", (from, to) => from.prepare("VACUUM INTO ?").run(to) && undefined],
  ["SQLite's backup interface", (from, to) => backup(from, to, { rate: 1_000_000 })],
])(
  "a backup by %s while two owners write is whole, opens as a store, and recovers while they live",
  async (_, copy) => {
    const servers = [1, 2].map(() => runChild(program, [temp.path()]));
    onTestFinished(async () => void (await Promise.all(servers.map((server) => server.kill("SIGKILL")))));
    const acknowledged = await Promise.all(servers.map((server) => readLines(server, 300)));
    const onlooker = new DatabaseSync(temp.path(), { readOnly: true, timeout: 5_000 });
    await copy(onlooker, temp.path("copy.db"));
    onlooker.close();
    for (const server of servers) await readLines(server, 50); // the owners were not disturbed

    const copied = new DatabaseSync(temp.path("copy.db"), { readOnly: true });
    expect(copied.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    copied.close();

    // The copy names owners that live, but beside another file. The tasks that were under way go on from it; what was journalled
    // does not run again.
    const rerun: string[] = [];
    const busy = busyTool(
      () => "again",
      (line) => rerun.push(line),
    );
    const real = await RealRuntime.started(sqliteStore(temp.path("copy.db")), { busy });
    for (const [id, values] of acknowledged.flatMap((each) => [...each])) {
      const { content } = bodyOf(await real.ended(id)) as { content: [{ text: string }] };
      const words = content[0].text.split(" ");
      expect(words).toHaveLength(5);
      for (const [key, value] of values) expect(words[Number(key)]).toBe(value);
    }
    expect(real.errors).toEqual([]);
    expect(await real.store.renew()).toEqual({ held: true, gone: [], others: 0 });
    await real.runtime.stop();
    for (const server of servers) await readLines(server, 50);
  },
);
