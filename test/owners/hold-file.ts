// Is in the middle of a write to a database until it is ended: node hold-file.ts DATABASE. Prints a line once it is.
import { DatabaseSync } from "node:sqlite";

const db = new DatabaseSync(process.argv[2] ?? "", { timeout: 5_000 });
db.exec("BEGIN IMMEDIATE");
process.stdout.write("held\n");
setInterval(() => db.isTransaction, 60_000);
