import { migratePostgres } from "holdfast/postgres";

const { schema, from, to } = await migratePostgres(process.env["DATABASE_URL"] ?? "");
console.log(from === to ? `${schema} is up to date.` : `${schema} went from version ${from} to ${to}.`);
