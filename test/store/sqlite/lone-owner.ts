// Holds a database as versions did that needed it alone, until its input ends: node lone-owner.ts PATH
import { hostname } from "node:os";
import { DatabaseSync } from "node:sqlite";

const db = new DatabaseSync(`${process.argv[2]}.lock`);
db.exec("CREATE TABLE owner (pid INTEGER NOT NULL, host TEXT NOT NULL, since TEXT NOT NULL) STRICT");
db.prepare("INSERT INTO owner VALUES (?, ?, '2026-01-01T00:00:00Z')").run(process.pid, hostname());
db.exec("BEGIN IMMEDIATE");
console.log("open");
process.stdin.resume();
process.stdin.on("end", () => db.close());
