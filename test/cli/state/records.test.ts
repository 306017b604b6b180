import { copyFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Records } from "../../../src/cli/state/records.ts";
import { connect } from "../../../src/store/sqlite/connect.ts";
import { folder } from "../run-cli.ts";

it("keeps records by kind and key in a file for one user, which any number of commands share", async () => {
  const place = join(await folder(), "new");
  const file = join(place, "state.db");
  const [one, other] = [new Records(file), new Records(file)];
  expect([one.get("seen", "a"), one.all("seen")]).toEqual([undefined, []]);
  // Reading makes nothing.
  await expect(stat(place)).rejects.toThrow("ENOENT");
  one.set("seen", "a", { n: 1 });
  other.set("seen", "a", { n: 2 });
  other.set("seen", "b", { n: 3 });
  other.set("trusted", "a", { n: 4 });
  expect([one.get("seen", "a"), one.all("seen")]).toEqual([{ n: 2 }, [{ n: 2 }, { n: 3 }]]);
  one.remove("seen", "a", "none");
  expect([other.all("seen"), other.all("trusted")]).toEqual([[{ n: 3 }], [{ n: 4 }]]);
  expect([(await stat(place)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o700, 0o600]);
});

it("loses only a record that is damaged", async () => {
  const file = join(await folder(), "state.db");
  const records = new Records(file);
  for (const key of ["a", "b", "c"]) records.set("server", key, { key });
  const database = connect(file, {});
  database.exec(
    "UPDATE records SET value = '{' WHERE key = 'b'; UPDATE records SET value = 7 WHERE key = 'c'",
  );
  database.close();
  expect(records.all("server")).toEqual([{ key: "a" }]);
  records.set("server", "b", { key: "again" });
  expect(records.all("server")).toEqual([{ key: "a" }, { key: "again" }]);
});

it("puts a file aside that is no database when it has to write, and reads nothing from it before", async () => {
  const place = await folder();
  const file = join(place, "state.db");
  await writeFile(file, "no database ".repeat(100));
  const records = new Records(file);
  expect(records.all("server")).toEqual([]);
  records.set("server", "a", { key: "a" });
  expect(records.all("server")).toEqual([{ key: "a" }]);
  expect((await readdir(place)).toSorted()).toEqual(["state.db", "state.db.damaged"]);
});

it("reads what was there before a write in whose middle a process crashed", async () => {
  const [running, file] = [join(await folder(), "state.db"), join(await folder(), "state.db")];
  new Records(running).set("server", "a", { key: "a" });
  const database = connect(running, {});
  // Pages are written before the end.
  database.exec("PRAGMA cache_size = 1; BEGIN IMMEDIATE");
  const add = database.prepare("INSERT INTO records VALUES ('seen', ?, ?)");
  for (let at = 0; at < 100; at++) add.run(String(at), JSON.stringify("x".repeat(1_000)));
  for (const suffix of ["", "-journal"]) await copyFile(`${running}${suffix}`, `${file}${suffix}`);
  database.close();
  const records = new Records(file);
  expect([records.all("server"), records.all("seen")]).toEqual([[{ key: "a" }], []]);
});

it("removes records from a file that is no database by putting it aside", async () => {
  const place = await folder();
  const file = join(place, "state.db");
  await writeFile(file, "no database ".repeat(100));
  new Records(file).remove("server", "a");
  expect((await readdir(place)).toSorted()).toEqual(["state.db", "state.db.damaged"]);
});

it("says why it cannot write", async () => {
  const records = new Records(join(await folder(), "state.db"));
  records.set("server", "a", {});
  expect(() => new Records(join(records.file, "below.db")).set("server", "a", {})).toThrow(/ENOTDIR|EEXIST/);
});
