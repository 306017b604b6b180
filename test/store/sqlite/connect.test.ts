import { expect, onTestFinished, test, vi } from "vitest";
import { connect } from "../../../src/store/sqlite/connect.ts";

const ofSqlite = "SQLite is an experimental feature and might change at any time";

test("drops the warning of Node 22 that SQLite is experimental, and no other warning", async () => {
  const getBuiltinModule = process.getBuiltinModule.bind(process);
  // As Node 22.18 does when the module is loaded; the Node that runs this test may not warn any more.
  const load = vi.spyOn(process, "getBuiltinModule").mockImplementation((id: string) => {
    process.emitWarning(ofSqlite, "ExperimentalWarning");
    process.emitWarning("Another module is experimental", "ExperimentalWarning");
    return getBuiltinModule(id);
  });
  onTestFinished(() => load.mockRestore());
  const warned: string[] = [];
  const note = (warning: Error): number => warned.push(warning.message);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));

  connect(":memory:", {}).close();
  process.emitWarning(ofSqlite, "ExperimentalWarning"); // by somebody else: not ours to drop
  await vi.waitUntil(() => warned.length >= 2);
  expect(warned).toEqual(["Another module is experimental", ofSqlite]);
});
