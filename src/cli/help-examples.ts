/** A command line, and what it does. */
export interface Example {
  readonly line: string;
  readonly does: string;
}

const url = "http://127.0.0.1:3000/mcp";

/** A server that anyone with npm can start. */
const everything = "npx -y @modelcontextprotocol/server-everything";

/** The first commands to try, on the start page. */
export const firstCommands: readonly Example[] = [
  {
    line: `holdfast tools "${everything}"`,
    does: "lists a server's tools; npx starts this one",
  },
  { line: `holdfast call "${everything}" echo message=hi`, does: "calls a tool and prints its result" },
  { line: "holdfast ls", does: "lists your tasks and their status" },
];

/** Examples, by the words of the command that they show. */
export const examples: Readonly<Record<string, readonly Example[]>> = {
  call: [
    { line: `holdfast call ${url} publish_report month=2026-10`, does: "waits for the result" },
    {
      line: `holdfast call ${url} publish_report month=2026-11 --detach`,
      does: "prints the task's id and does not wait",
    },
    {
      line: "holdfast call add a=1 b=2 -- node server.js",
      does: "starts the server, and stops it after the call",
    },
    {
      line: `holdfast call reports search 'where:={"year":2026}' tag=new tag=big`,
      does: "passes an object and a list to a server from .mcp.json",
    },
    {
      line: "holdfast call reports summarise text=@notes.md --save out",
      does: "reads the text from a file, and saves the images and files of the result",
    },
  ],
  tools: [
    { line: `holdfast tools ${url}`, does: "lists all tools with their arguments" },
    { line: `holdfast tools ${url} publish_report`, does: "shows one tool, with a call to copy" },
  ],
  ping: [{ line: `holdfast ping ${url}`, does: "measures how fast it answers" }],
  resources: [{ line: `holdfast resources ${url}`, does: "lists resources and URI templates" }],
  read: [
    { line: "holdfast read reports reports://2026-10", does: "prints the resource, if it is text" },
    {
      line: "holdfast read reports reports://2026-10/chart --save .",
      does: "saves it as a new file",
    },
  ],
  prompts: [{ line: "holdfast prompts reports", does: "lists prompts with their arguments" }],
  prompt: [
    { line: "holdfast prompt reports review month=2026-10", does: "prints the messages for the model" },
    {
      line: "holdfast prompt reports review month=2026-10 text=@notes.md",
      does: "reads an argument from a file",
    },
  ],
  complete: [
    {
      line: "holdfast complete reports prompt review month=2026-",
      does: "lists the months that start with 2026-",
    },
    {
      line: "holdfast complete reports resource 'reports://{year}/{month}' year=2",
      does: "lists the years that start with 2",
    },
  ],
  open: [
    {
      line: "holdfast open @page -- npx -y @playwright/mcp",
      does: "keeps it: holdfast @page call browser_navigate url=https://example.com",
    },
  ],
  close: [{ line: "holdfast close @page", does: "ends it" }],
  shell: [{ line: "holdfast shell @page", does: "reads a line such as: call browser_snapshot" }],
  trust: [
    { line: "holdfast trust reports", does: "shows what the entry does, and allows it from now on" },
    { line: "holdfast trust reports --revoke", does: "asks again from now on" },
  ],
  servers: [{ line: "holdfast servers", does: "lists names for SERVER, and which folders' are trusted" }],
  "servers add": [
    {
      line: "holdfast servers add reports https://reports.example.com/mcp",
      does: "add --header 'X-Key: ${KEY}' for a key that stays in your environment",
    },
    { line: "holdfast servers add files -- node server.js", does: "starts the command in this folder" },
  ],
  "servers remove": [{ line: "holdfast servers remove reports", does: "forgets it" }],
  login: [
    { line: "holdfast login https://reports.example.com/mcp", does: "opens the login page" },
    {
      line: "holdfast login https://reports.example.com/mcp --device",
      does: "prints a code to enter on another device",
    },
    {
      line: "holdfast login reports --client-credentials --client-id nightly",
      does: "logs in without a user, with the secret in HOLDFAST_CLIENT_SECRET",
    },
  ],
  logout: [
    { line: "holdfast logout https://reports.example.com/mcp", does: "revokes its tokens, and forgets them" },
  ],
  doctor: [
    { line: `holdfast doctor ${url}`, does: "says what is wrong if calls do not work" },
    { line: "holdfast doctor tools.yaml", does: "looks at all that serve needs for the file" },
  ],
  ls: [
    { line: "holdfast ls", does: "lists tasks with the status last seen" },
    { line: "holdfast ls --refresh", does: "asks their servers for the current status" },
  ],
  get: [{ line: "holdfast get 01a200", does: "shows the task whose id starts with 01a200" }],
  watch: [{ line: "holdfast watch last", does: "follows the most recently started task, from any terminal" }],
  result: [
    { line: "holdfast result 2", does: "waits for the result of task 2 in the last list" },
    { line: "holdfast result 01a200 --timeout 60", does: "waits for a minute at most; the task continues" },
    { line: "holdfast result last --save out", does: "saves the images and files of the result" },
  ],
  cancel: [{ line: "holdfast cancel 01a200", does: "asks the server to end the task" }],
  logs: [{ line: "holdfast logs 01a200 -f", does: "prints each line as the tool logs it" }],
  answer: [
    { line: "holdfast answer 01a200", does: "asks you the task's question" },
    { line: "holdfast answer 01a200 confirm=true", does: "answers without a terminal" },
  ],
  forget: [
    { line: "holdfast forget 01a200 2", does: "forgets them here; the tasks themselves may continue" },
    { line: "holdfast forget --lost", does: "forgets those that ls --refresh found to be lost" },
  ],
  search: [
    { line: "holdfast search report month", does: "asks no server: only what tools and call have seen" },
  ],
  docs: [
    { line: "holdfast docs operations", does: "prints a page" },
    { line: "holdfast docs store_locked", does: "says what an error code means, and what to do" },
    {
      line: "holdfast docs AGENTS.md > AGENTS.md",
      does: "writes rules for agents that work on your tools",
    },
    { line: "holdfast docs rolling deploys", does: "finds headings with these words" },
  ],
  replay: [
    {
      line: "holdfast replay wire.jsonl",
      does: "is a server: holdfast call add a=1 b=2 -- holdfast replay wire.jsonl",
    },
  ],
  "journal ls": [{ line: "holdfast journal ls tasks.db", does: "lists unfinished tasks" }],
  "journal export": [
    {
      line: "holdfast journal export tasks.db 01a2005m7e21 --output task.json",
      does: "writes a recording that a test can replay",
    },
  ],
  completion: [
    {
      line: "holdfast completion bash",
      does: 'for ~/.bashrc: eval "$(holdfast completion bash)"',
    },
  ],
  serve: [
    { line: "holdfast serve --init", does: "writes tools.yaml, with examples" },
    { line: "holdfast serve tools.yaml", does: "serves its tools, and follows its changes" },
    {
      line: "holdfast serve tools.yaml --dry-run count_lines file=notes.md",
      does: "prints what a call would run",
    },
    {
      line: "holdfast serve -- npx -y @modelcontextprotocol/server-everything",
      does: "makes the tools of another server durable",
    },
  ],
  init: [{ line: "holdfast init reports", does: "writes a project to the folder reports" }],
  inbox: [
    { line: "holdfast inbox agent.db chat-17", does: "shows results that this conversation has not taken" },
    {
      line: "holdfast inbox agent.db chat-17 --exec ./append --follow",
      does: "hands each of them to a program",
    },
  ],
  migrate: [
    { line: "holdfast migrate postgres://db.example/app --dry-run", does: "prints what would be done" },
  ],
  dashboard: [
    { line: "holdfast dashboard tasks.db", does: "serves the dashboard, and prints a link that logs in" },
  ],
  admin: [
    { line: "holdfast admin tasks.db list --state failed", does: "lists failed tasks" },
    { line: "holdfast admin tasks.db show 01a200", does: "shows why, attempt by attempt" },
  ],
  "admin list": [
    {
      line: "holdfast admin tasks.db list --tool report --older-than 1h",
      does: "lists tasks created over an hour ago",
    },
  ],
  "admin show": [
    { line: "holdfast admin tasks.db show 01a200", does: "shows everything stored about a task" },
  ],
  "admin counts": [{ line: "holdfast admin tasks.db counts", does: "prints a line for each tool" }],
  "admin failures": [
    { line: "holdfast admin tasks.db failures report", does: "groups failed tasks by cause" },
  ],
  "admin incidents": [
    { line: "holdfast admin tasks.db incidents", does: "lists why tasks fail now, since when and for whom" },
  ],
  "admin mark": [
    {
      line: 'holdfast admin tasks.db mark c0123456789abcdef --mute --note "fixed in 4"',
      does: "shows it after the others, with the note",
    },
  ],
  "admin actions": [
    { line: "holdfast admin tasks.db actions --task 01a200", does: "lists who did what to the task" },
  ],
  "admin activity": [
    {
      line: "holdfast admin tasks.db activity --minutes 15",
      does: "counts what ended, by tool, and refusals",
    },
  ],
  "admin nodes": [{ line: "holdfast admin tasks.db nodes", does: "prints a line for each process" }],
  "admin sessions": [
    { line: "holdfast admin tasks.db sessions", does: "lists who is logged in to a dashboard" },
  ],
  "admin end-session": [
    { line: "holdfast admin tasks.db end-session 3f9c01aa", does: "logs the operator out within a second" },
  ],
  "admin top": [{ line: "holdfast admin tasks.db top", does: "shows live counts until you press q" }],
  "admin answer": [
    {
      line: "holdfast admin tasks.db answer 01a200 --accept sure=true",
      does: "answers in place of the user",
    },
  ],
  "admin cancel": [
    {
      line: "holdfast admin tasks.db cancel --all --tool report --dry-run",
      does: "prints how many tasks would be cancelled",
    },
  ],
  "admin retry": [
    {
      line: "holdfast admin tasks.db retry 01a200 --keep-up-to upload",
      does: "keeps steps up to upload, and runs the rest again",
    },
  ],
  "admin unblock": [
    {
      line: "holdfast admin tasks.db unblock 01a200",
      does: "tries it with the code that runs now",
    },
  ],
  "admin delete": [
    {
      line: "holdfast admin tasks.db delete --all --state completed --older-than 7d",
      does: "asks before it deletes",
    },
  ],
  "admin extend": [
    {
      line: "holdfast admin tasks.db extend 01a200 2d",
      does: "lets it run, or keeps it, until two days from now",
    },
  ],
  "admin bulk": [
    {
      line: "holdfast admin tasks.db bulk 01a200",
      does: "shows how far an action on many tasks has come",
    },
  ],
  "admin drain": [
    { line: "holdfast admin tasks.db drain", does: "says when the only server can be stopped" },
    {
      line: "holdfast admin tasks.db drain 657cbd55 --within 2m",
      does: "gives running steps of this process two minutes",
    },
  ],
  "admin pause": [
    { line: "holdfast admin tasks.db pause report", does: "calls are still accepted, but wait" },
  ],
  "admin resume": [{ line: "holdfast admin tasks.db resume report", does: "starts the tasks that waited" }],
  "admin webhooks": [{ line: "holdfast admin tasks.db webhooks", does: "prints a line for each webhook" }],
  "admin resend": [
    { line: "holdfast admin tasks.db resend billing", does: "resends them within a minute" },
    {
      line: "holdfast admin tasks.db resend billing --waiting --changed-from 2h --dry-run",
      does: "counts all that an outage of two hours may have lost",
    },
  ],
  "admin dump": [
    {
      line: "holdfast admin tasks.db dump monday.dump",
      does: "writes a new file while servers keep running",
    },
    {
      line: "holdfast admin tasks.db dump monday.dump --blobs files",
      does: "also has the files that tasks keep in that folder",
    },
  ],
  "admin load": [
    { line: "holdfast admin new.db load monday.dump", does: "creates new.db from the dump" },
    {
      line: "holdfast admin postgres://db/app load monday.dump",
      does: "moves a SQLite store to Postgres",
    },
  ],
  "admin export": [
    {
      line: "holdfast admin tasks.db export --principal ann",
      does: "prints everything stored about ann's tasks",
    },
  ],
  check: [
    {
      line: "holdfast check recordings --tools ./tools.ts",
      does: "runs the handlers on the recordings of a folder, and no step",
    },
    {
      line: "holdfast check waiting.jsonl --tools ./tools.ts",
      does: "does the same with what admin STORE export --state waiting wrote",
    },
  ],
  "admin keys": [{ line: "holdfast admin tasks.db keys", does: "with HOLDFAST_ENCRYPTION_KEYS=new:…,old:…" }],
  "admin reseal": [
    { line: "holdfast admin tasks.db reseal", does: "with HOLDFAST_ENCRYPTION_KEYS=new:…,old:…" },
  ],
  "admin rotate-secrets": [
    { line: "holdfast admin tasks.db rotate-secrets", does: "accepts for an hour what the old ones made" },
    { line: "holdfast admin tasks.db rotate-secrets --accept 0s", does: "after a leak: ends it at once" },
  ],
  "admin gc": [{ line: "holdfast admin tasks.db gc", does: "runs while servers keep running" }],
  "admin delete-principal": [
    { line: "holdfast admin tasks.db delete-principal ann", does: "asks before it deletes" },
  ],
};
