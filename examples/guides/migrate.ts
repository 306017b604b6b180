import { migratePostgres } from "holdfast/postgres";

const { DATABASE_URL } = process.env;
if (DATABASE_URL === undefined) throw new Error("Set DATABASE_URL to postgres://HOST/DATABASE.");
const { schema, from, to } = await migratePostgres(DATABASE_URL);
console.log(from === to ? `${schema} is up to date.` : `${schema} went from version ${from} to ${to}.`);
