import * as adminSql from "../../../src/store/sqlite/admin-sql.ts";
import * as limits from "../../../src/store/sqlite/sqlite-limits.ts";
import * as sql from "../../../src/store/sqlite/sql.ts";

/** The statements of a module: those of `rows` as `rows.name`, and those of `xStatements` as `x.name`. */
function statementsOf(module: object): [string, string][] {
  return Object.entries(module).flatMap(([name, of]): [string, string][] => {
    if (typeof of === "string") return name.endsWith("Schema") ? [] : [[name, of]];
    if (typeof of !== "object" || name === "tables") return [];
    const group = name.replace("Statements", "");
    return Object.entries(of as Record<string, string>).map(([each, text]) => [`${group}.${each}`, text]);
  });
}

/** All statements of the store, by their names. */
export const statements = new Map<string, string>([
  ...[sql, adminSql, limits].flatMap(statementsOf),
  ["updateTask", sql.updateTask(["state", "version"])],
]);
