/** A command as it is typed, and what it does. */
export interface Example {
  readonly line: string;
  readonly does: string;
}

const url = "http://127.0.0.1:3000/mcp";

/** A server that anyone can start who has npm. */
const everything = "npx -y @modelcontextprotocol/server-everything";

/** What the start page tells to try. */
export const firstCommands: readonly Example[] = [
  {
    line: `holdfast tools "${everything}"`,
    does: "lists the tools of a server, here of one that npx starts",
  },
  { line: `holdfast call "${everything}" echo message=hi`, does: "calls one of them, and prints its result" },
  { line: "holdfast ls", does: "lists the tasks that calls have become, and how they stand" },
];

/** By the words of the command that they show. */
export const examples: Readonly<Record<string, readonly Example[]>> = {
  call: [
    { line: `holdfast call ${url} publish_report month=2026-10`, does: "waits for the result" },
    {
      line: `holdfast call ${url} publish_report month=2026-11 --detach`,
      does: "prints the task's id and leaves",
    },
    {
      line: "holdfast call add a=1 b=2 -- node server.js",
      does: "starts the server itself, for as long as the call takes",
    },
    {
      line: `holdfast call reports search 'where:={"year":2026}' tag=new tag=big`,
      does: "gives an object and a list to a server that .mcp.json names",
    },
    {
      line: "holdfast call reports summarise text=@notes.md --save out",
      does: "takes the text from a file, and saves images and files that come back",
    },
  ],
  tools: [
    { line: `holdfast tools ${url}`, does: "lists all tools with their arguments" },
    { line: `holdfast tools ${url} publish_report`, does: "shows one, with a call to copy" },
  ],
  ping: [{ line: `holdfast ping ${url}`, does: "says how fast it answers" }],
  resources: [{ line: `holdfast resources ${url}`, does: "lists what can be read, and templates of more" }],
  read: [
    { line: "holdfast read reports reports://2026-10", does: "prints it, if it is text" },
    {
      line: "holdfast read reports reports://2026-10/chart --save .",
      does: "saves it under a name of its own",
    },
  ],
  prompts: [{ line: "holdfast prompts reports", does: "lists prompts with their arguments" }],
  prompt: [
    { line: "holdfast prompt reports review month=2026-10", does: "prints what a model is to be told" },
    {
      line: "holdfast prompt reports review month=2026-10 text=@notes.md",
      does: "takes an argument from a file",
    },
  ],
  complete: [
    { line: "holdfast complete reports prompt review month=2026-", does: "lists the months that begin so" },
    {
      line: "holdfast complete reports resource 'reports://{year}/{month}' year=2",
      does: "lists the years; add month= for the months of one",
    },
  ],
  login: [
    { line: "holdfast login https://reports.example.com/mcp", does: "opens a page where you log in" },
    {
      line: "holdfast login https://reports.example.com/mcp --device",
      does: "prints a code, to log in on another device",
    },
    {
      line: "holdfast login reports --client-credentials --client-id nightly",
      does: "logs a job in, with the secret in HOLDFAST_CLIENT_SECRET",
    },
  ],
  logout: [
    { line: "holdfast logout https://reports.example.com/mcp", does: "its tokens are worth nothing then" },
  ],
  doctor: [{ line: `holdfast doctor ${url}`, does: "says what is wrong where a call does not work" }],
  ls: [
    { line: "holdfast ls", does: "lists tasks by what is known of them here" },
    { line: "holdfast ls --refresh", does: "asks their servers how they stand now" },
  ],
  get: [{ line: "holdfast get 01a200", does: "shows the task whose id begins so" }],
  watch: [{ line: "holdfast watch last", does: "follows the task that was started last, from any terminal" }],
  result: [
    { line: "holdfast result 2", does: "waits for the result of number 2 of the last list" },
    { line: "holdfast result 01a200 --timeout 60", does: "waits for a minute at most; the task goes on" },
    { line: "holdfast result last --save out", does: "saves images and files of the result" },
  ],
  cancel: [{ line: "holdfast cancel 01a200", does: "asks the server to end the task" }],
  logs: [{ line: "holdfast logs 01a200 -f", does: "prints each line as the tool logs it" }],
  answer: [
    { line: "holdfast answer 01a200", does: "asks you what the task asks" },
    { line: "holdfast answer 01a200 confirm=true", does: "answers without a terminal" },
  ],
  forget: [{ line: "holdfast forget 01a200", does: "the server is not told, and may go on" }],
  "journal ls": [{ line: "holdfast journal ls tasks.db", does: "lists what has not ended" }],
  "journal export": [
    {
      line: "holdfast journal export tasks.db 01a2005m7e21 --output task.json",
      does: "writes what a test can replay",
    },
  ],
  completion: [
    {
      line: "holdfast completion bash",
      does: 'for ~/.bashrc: eval "$(holdfast completion bash)"',
    },
  ],
  init: [{ line: "holdfast init reports", does: "writes a project into the folder reports" }],
  migrate: [
    { line: "holdfast migrate postgres://db.example/app --dry-run", does: "says what would be done" },
  ],
  dashboard: [
    { line: "holdfast dashboard tasks.db", does: "serves the dashboard, and prints a link that logs in" },
  ],
  admin: [
    { line: "holdfast admin tasks.db list --state failed", does: "lists what failed" },
    { line: "holdfast admin tasks.db show 01a200", does: "says why, attempt by attempt" },
  ],
  "admin list": [
    { line: "holdfast admin tasks.db list --tool report --older-than 1h", does: "lists what takes long" },
  ],
  "admin show": [{ line: "holdfast admin tasks.db show 01a200", does: "shows all that is stored of a task" }],
  "admin counts": [{ line: "holdfast admin tasks.db counts", does: "a line for each tool" }],
  "admin failures": [
    { line: "holdfast admin tasks.db failures report", does: "groups them by their reasons" },
  ],
  "admin actions": [
    { line: "holdfast admin tasks.db actions --task 01a200", does: "says who did what to a task" },
  ],
  "admin top": [{ line: "holdfast admin tasks.db top", does: "stays until q" }],
  "admin answer": [
    { line: "holdfast admin tasks.db answer 01a200 --accept sure=true", does: "answers for the user" },
  ],
  "admin cancel": [
    {
      line: "holdfast admin tasks.db cancel --all --tool report --dry-run",
      does: "says how many would be cancelled",
    },
  ],
  "admin retry": [
    { line: "holdfast admin tasks.db retry 01a200 --keep-up-to upload", does: "does the rest once more" },
  ],
  "admin delete": [
    {
      line: "holdfast admin tasks.db delete --all --state completed --older-than 7d",
      does: "asks before it deletes",
    },
  ],
  "admin extend": [{ line: "holdfast admin tasks.db extend 01a200 2d", does: "two days from now on" }],
  "admin pause": [{ line: "holdfast admin tasks.db pause report", does: "calls are taken, and wait" }],
  "admin resume": [{ line: "holdfast admin tasks.db resume report", does: "starts what has waited" }],
  "admin webhooks": [{ line: "holdfast admin tasks.db webhooks", does: "a line for each webhook" }],
  "admin resend": [{ line: "holdfast admin tasks.db resend billing", does: "within a minute" }],
  "admin backup": [{ line: "holdfast admin tasks.db backup monday.backup", does: "while servers go on" }],
  "admin restore": [
    { line: "holdfast admin new.db restore monday.backup", does: "makes new.db, which is not there yet" },
  ],
  "admin export": [{ line: "holdfast admin tasks.db export --principal ann", does: "all that is hers" }],
  "admin gc": [{ line: "holdfast admin tasks.db gc", does: "while servers go on" }],
  "admin delete-principal": [
    { line: "holdfast admin tasks.db delete-principal ann", does: "asks before it deletes" },
  ],
};
