import type { Example } from "../../declare.ts";

/** Examples of the commands of `admin`, by their names. */
export const adminExamples: Readonly<Record<string, readonly Example[]>> = {
  list: [
    ["holdfast admin tasks.db list --tool report --older-than 1h", "lists tasks created over an hour ago"],
  ],
  show: [["holdfast admin tasks.db show 01a200", "shows everything stored about a task"]],
  counts: [["holdfast admin tasks.db counts", "prints a line for each tool"]],
  failures: [["holdfast admin tasks.db failures report", "groups failed tasks by cause"]],
  incidents: [["holdfast admin tasks.db incidents", "lists why tasks fail now, since when and for whom"]],
  mark: [
    [
      'holdfast admin tasks.db mark c0123456789abcdef --mute --note "fixed in 4"',
      "shows it after the others, with the note",
    ],
  ],
  actions: [["holdfast admin tasks.db actions --task 01a200", "lists who did what to the task"]],
  activity: [["holdfast admin tasks.db activity --minutes 15", "counts what ended, by tool, and refusals"]],
  callers: [
    ["holdfast admin tasks.db callers --minutes 1440 --by time", "lists who kept servers busy today"],
  ],
  latency: [["holdfast admin tasks.db latency report", "lists the slowest steps of the tool first"]],
  nodes: [["holdfast admin tasks.db nodes", "prints a line for each process"]],
  sessions: [["holdfast admin tasks.db sessions", "lists who is logged in to a dashboard"]],
  "end-session": [["holdfast admin tasks.db end-session 3f9c01aa", "logs the operator out within a second"]],
  top: [["holdfast admin tasks.db top", "shows live counts until you press q"]],
  answer: [["holdfast admin tasks.db answer 01a200 --accept sure=true", "answers in place of the user"]],
  cancel: [
    [
      "holdfast admin tasks.db cancel --all --tool report --dry-run",
      "prints how many tasks would be cancelled",
    ],
  ],
  retry: [
    [
      "holdfast admin tasks.db retry 01a200 --keep-up-to upload",
      "keeps steps up to upload, and runs the rest again",
    ],
  ],
  unblock: [["holdfast admin tasks.db unblock 01a200", "tries it with the code that runs now"]],
  delete: [
    ["holdfast admin tasks.db delete --all --state completed --older-than 7d", "asks before it deletes"],
  ],
  extend: [["holdfast admin tasks.db extend 01a200 2d", "lets it run, or keeps it, until two days from now"]],
  bulk: [["holdfast admin tasks.db bulk 01a200", "shows how far an action on many tasks has come"]],
  drain: [
    ["holdfast admin tasks.db drain", "says when the only server can be stopped"],
    ["holdfast admin tasks.db drain 657cbd55 --within 2m", "gives running steps of this process two minutes"],
  ],
  pause: [["holdfast admin tasks.db pause report", "calls are still accepted, but wait"]],
  resume: [["holdfast admin tasks.db resume report", "starts the tasks that waited"]],
  webhooks: [["holdfast admin tasks.db webhooks", "prints a line for each webhook"]],
  resend: [
    ["holdfast admin tasks.db resend billing", "resends them within a minute"],
    [
      "holdfast admin tasks.db resend billing --waiting --changed-from 2h --dry-run",
      "counts all that an outage of two hours may have lost",
    ],
  ],
  dump: [
    ["holdfast admin tasks.db dump monday.dump", "writes a new file while servers keep running"],
    [
      "holdfast admin tasks.db dump monday.dump --blobs files",
      "also has the files that tasks keep in that folder",
    ],
  ],
  load: [
    ["holdfast admin new.db load monday.dump", "creates new.db from the dump"],
    ["holdfast admin postgres://db/app load monday.dump", "moves a SQLite store to Postgres"],
  ],
  export: [["holdfast admin tasks.db export --principal ann", "prints everything stored about ann's tasks"]],
  keys: [["holdfast admin tasks.db keys", "with HOLDFAST_ENCRYPTION_KEYS=new:…,old:…"]],
  reseal: [["holdfast admin tasks.db reseal", "with HOLDFAST_ENCRYPTION_KEYS=new:…,old:…"]],
  "rotate-secrets": [
    ["holdfast admin tasks.db rotate-secrets", "accepts for an hour what the old ones made"],
    ["holdfast admin tasks.db rotate-secrets --accept 0s", "after a leak: ends it at once"],
  ],
  gc: [["holdfast admin tasks.db gc", "runs while servers keep running"]],
  "delete-principal": [["holdfast admin tasks.db delete-principal ann", "asks before it deletes"]],
};
