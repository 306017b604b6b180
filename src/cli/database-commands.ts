import { selecting } from "./command/admin/selection.ts";
import { declare } from "./declare.ts";

/** The commands of `holdfast admin STORE` that need the store's database. */
export const databaseCommands = declare({
  dump: {
    prints: "`{ file, tasks, changed, unreadable, withoutFiles, bytes, seconds }`",
    examples: [
      ["holdfast admin tasks.db dump monday.dump", "writes a new file while servers keep running"],
      [
        "holdfast admin tasks.db dump monday.dump --blobs files",
        "also has the files that tasks keep in that folder",
      ],
    ],
    does: "copy the store to a file while servers keep running",
    args: [["<file>", "the new file"]],
    options: [
      ["--since <file>", "write only what changed since this earlier dump of the store"],
      ["--blobs <folder>", "with the files that tasks keep there, outside of the store"],
    ],
  },
  load: {
    prints: "`{ file, tasks, at, partial, beside }`",
    examples: [
      ["holdfast admin new.db load monday.dump", "creates new.db from the dump"],
      ["holdfast admin postgres://db/app load monday.dump", "moves a SQLite store to Postgres"],
    ],
    does: "fill an empty store from a dump, of SQLite or Postgres",
    args: [["<file>", "the dump"]],
    options: [
      ["--partial", "keep servers out until a later dump has been loaded too"],
      ["--beside", "let the store be opened while servers have the original open"],
      ["--blobs <folder>", "where files go that the dump has from outside of the store"],
    ],
  },
  export: {
    prints:
      "a line for each task, always: `JournalRecording` of `holdfast/testing` with `statusMessage`, `startedAt`, `updatedAt`, `finishedAt`, `log`, `output`",
    examples: [
      ["holdfast admin tasks.db export --principal ann", "prints everything stored about ann's tasks"],
    ],
    does: "print everything stored about tasks, one line of JSON each",
    options: selecting,
  },
  gc: {
    prints: "`{ tasks, sessions, deliveries, bytes: { before, after }, left }`",
    examples: [["holdfast admin tasks.db gc", "runs while servers keep running"]],
    does: "delete what has expired, and free its space",
    options: [["--full", "free all unused space; servers that use the store wait meanwhile"]],
  },
  keys: {
    prints:
      "`{ keys: [{ id, isGiven, texts: { TABLE: COUNT } }], clear: { TABLE: COUNT }, unopened: { TABLE: ROWS } }`",
    examples: [["holdfast admin tasks.db keys", "with HOLDFAST_ENCRYPTION_KEYS=new:…,old:…"]],
    does: "show what each encryption key is still needed for",
  },
  reseal: {
    prints: "`{ rows: { TABLE: ROWS }, left: { TABLE: ROWS }, isStrict, isClean }`",
    examples: [["holdfast admin tasks.db reseal", "with HOLDFAST_ENCRYPTION_KEYS=new:…,old:…"]],
    does: "encrypt everything in the store with its first key, while servers run",
  },
  "rotate-secrets": {
    prints: "`{ secrets, acceptedUntil, rekeyed, left }`",
    examples: [
      ["holdfast admin tasks.db rotate-secrets", "accepts for an hour what the old ones made"],
      ["holdfast admin tasks.db rotate-secrets --accept 0s", "after a leak: ends it at once"],
    ],
    does: "replace the secrets that the store made for its servers",
    options: [
      [
        "--accept <time>",
        "how long what was made with the old ones counts; 0s: no longer",
        { default: "1h" },
      ],
    ],
  },
  "delete-principal": {
    prints: "`{ principal, deleted: { TABLE: ROWS }, left, isClean }`",
    examples: [["holdfast admin tasks.db delete-principal ann", "asks before it deletes"]],
    does: "delete everything the store has about a caller",
    args: [["<principal>", "the caller"]],
    options: [
      ["--yes", "skip the confirmation"],
      ["--grace <time>", "how long running handlers may take to finish", { default: "10s" }],
    ],
  },
});

export type DatabaseCommands = typeof databaseCommands;
