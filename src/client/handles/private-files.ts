// The handles of a client, and what the command line keeps beside them in the same file, follow the same rules. Clients without handles load neither.
export { inodeOf, isDamage, isUnfinished, openPrivate, putAside } from "../../runtime/private-database.ts";
