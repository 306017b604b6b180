import {
  collect,
  config,
  declare,
  header,
  json,
  maxChars,
  save,
  secondsAboveZero,
  serverForms,
  serverOptions,
  timeout,
  trust,
} from "./declare.ts";

const url = "http://127.0.0.1:3000/mcp";

const server = ["<server>", serverForms] as const;
const urlServer = ["<server>", "a URL, or a name from a config file with mcpServers"] as const;
const wait = timeout("how long to wait");
const asking = [...serverOptions, wait] as const;

const taskJson =
  "a task: `id`, `server`, `tool`, `status`, `statusMessage`, `createdAt`, `lastUpdatedAt`, `ttlMs`, `pollIntervalMs`, `questions`, `result`, `error`";

export const toolCommands = declare({
  tools: {
    prints:
      "`{ server: { name, version }, tools: [{ name, description, task, inputSchema }] }`; with TOOL only that one, with an `example`",
    does: "list a server's tools, or show one with an example call",
    args: [server, ["[tool]", "show only this tool, in full"]],
    options: asking,
    examples: [
      [`holdfast tools ${url}`, "lists all tools with their arguments"],
      [`holdfast tools ${url} publish_report`, "shows one tool, with a call to copy"],
    ],
  },
  call: {
    prints: taskJson,
    does: "call a tool and wait for its result",
    args: [
      server,
      ["<tool>", "the tool's name"],
      [
        "[pairs...]",
        "key=value, converted by the tool's schema, key:=json, or key=@file; repeat a key to make a list",
      ],
    ],
    options: [
      ...serverOptions,
      ["--args <json>", "more arguments: a JSON object, @file, or - for stdin"],
      ["--detach", "print the task's id and do not wait"],
      [save[0], save[1], { conflicts: "detach" }],
      maxChars,
      timeout(),
    ],
    examples: [
      [`holdfast call ${url} publish_report month=2026-10`, "waits for the result"],
      [
        `holdfast call ${url} publish_report month=2026-11 --detach`,
        "prints the task's id and does not wait",
      ],
      ["holdfast call add a=1 b=2 -- node server.js", "starts the server, and stops it after the call"],
      [
        `holdfast call reports search 'where:={"year":2026}' tag=new tag=big`,
        "passes an object and a list to a server from .mcp.json",
      ],
      [
        "holdfast call reports summarise text=@notes.md --save out",
        "reads the text from a file, and saves the images and files of the result",
      ],
    ],
  },
  search: {
    prints: "`{ tools: [{ name, server, about }] }`",
    does: "find tools of all servers that you have listed, by their words",
    args: [["<words...>", "all of them are in the name or the description"]],
    options: [json],
    examples: [["holdfast search report month", "asks no server: only what tools and call have seen"]],
  },
  open: {
    prints: "`{ name, server, protocolVersion }`",
    does: "keep a server's process or session between commands",
    args: [server, ["<session>", "a name for it, such as @page"]],
    options: [
      ...asking,
      [
        "--idle <seconds>",
        "end it after this time without a command",
        { parse: secondsAboveZero, default: 1800 },
      ],
    ],
    examples: [
      [
        "holdfast open @page -- npx -y @playwright/mcp",
        "keeps it: holdfast @page call browser_navigate url=https://example.com",
      ],
    ],
  },
  shell: {
    does: "read commands for a session from a prompt, or line by line from a pipe",
    args: [["<session>", "its name; holdfast @NAME is the same"]],
    examples: [["holdfast shell @page", "reads a line such as: call browser_snapshot"]],
  },
  close: {
    prints: "`{ name }`",
    does: "end a session, and its server's process",
    args: [["<session>", "its name"]],
    options: [json],
    examples: [["holdfast close @page", "ends it"]],
  },
  servers: {
    prints: "`{ servers: [{ name, server, problem, file, trusted }] }`",
    does: "list the servers of config files, or add one to your own",
    options: [json, config],
    examples: [["holdfast servers", "lists names for SERVER, and which folders' are trusted"]],
  },
  "servers add": {
    prints: "`{ name, file }`",
    does: "add a server to your own config file, and leave the rest of it as it is",
    args: [
      ["<name>", "the name for commands"],
      ["<server>", "a URL, or a command line in quotes or after --"],
    ],
    options: [
      header,
      ["--env <pair>", "a variable for a command, NAME=value; can be repeated", { parse: collect }],
      ["--force", "replace the entry of that name"],
    ],
    examples: [
      [
        "holdfast servers add reports https://reports.example.com/mcp",
        "add --header 'X-Key: ${KEY}' for a key that stays in your environment",
      ],
      ["holdfast servers add files -- node server.js", "starts the command in this folder"],
    ],
  },
  "servers remove": {
    prints: "`{ name, file }`",
    does: "remove a server from your own config file",
    args: [["<name>", "its name"]],
    examples: [["holdfast servers remove reports", "forgets it"]],
  },
  trust: {
    prints: "`{ name, file, trusted }`",
    does: "let commands use a server of the folder's .mcp.json",
    args: [["<name>", "its name in .mcp.json"]],
    options: [["--revoke", "trust it no longer"], json],
    examples: [
      ["holdfast trust reports", "shows what the entry does, and allows it from now on"],
      ["holdfast trust reports --revoke", "asks again from now on"],
    ],
  },
  login: {
    prints: "`{ server, issuer, scope, expiresAt, renews }`. The login address goes to stderr",
    does: "log in to a server, for all later commands",
    args: [urlServer],
    options: [
      json,
      config,
      trust,
      ["--device", "log in on another device, with a code"],
      ["--no-browser", "print the login page's address without opening it"],
      ["--scope <scopes>", "the scopes to ask for, instead of those that the server names"],
      ["--client-id <id>", "use the client with this id instead of registering one"],
      ["--client-secret-file <file>", "a file with its secret, if not in HOLDFAST_CLIENT_SECRET"],
      ["--client-credentials", "log in as the client itself, without a user"],
      ["--client-metadata <url>", "use the client described by the document at this URL"],
      ["--issuer <url>", "log in at this authorization server only"],
      [
        "--timeout <seconds>",
        "how long to wait for you to log in (default: ten minutes)",
        { parse: secondsAboveZero },
      ],
    ],
    examples: [
      ["holdfast login https://reports.example.com/mcp", "opens the login page"],
      ["holdfast login https://reports.example.com/mcp --device", "prints a code to enter on another device"],
      [
        "holdfast login reports --client-credentials --client-id nightly",
        "logs in without a user, with the secret in HOLDFAST_CLIENT_SECRET",
      ],
    ],
  },
  logout: {
    prints: "`{ server, wasLoggedIn, revoked }`",
    does: "log out of a server and revoke its tokens",
    args: [urlServer],
    options: [json, config, trust],
    examples: [["holdfast logout https://reports.example.com/mcp", "revokes its tokens, and forgets them"]],
  },
  doctor: {
    prints:
      "`{ server, connected, protocolVersion, tasks, checks: [{ check, works, detail }] }`; of a store `{ store, checks }`, of a file `{ file, checks }`",
    does: "test a server: what works, what does not, and why",
    args: [["<server>", `${serverForms}; or sqlite:PATH, for the files of a store; or a file of serve`]],
    options: asking,
    examples: [
      [`holdfast doctor ${url}`, "says what is wrong if calls do not work"],
      ["holdfast doctor tools.yaml", "looks at all that serve needs for the file"],
    ],
  },
  ping: {
    prints: "`{ server: { name, version }, protocolVersion, connectMs, pingMs }`",
    does: "check that a server answers, and how fast",
    args: [server],
    options: asking,
    examples: [[`holdfast ping ${url}`, "measures how fast it answers"]],
  },
});

const taskForms = "the task's id or the start of it, its number in the last list, or last";
const id = ["<id>", taskForms] as const;
const ofTask = [
  ...serverOptions,
  ["--server <server>", "the server, for a task that was started elsewhere"],
  timeout(),
] as const;

export const taskCommands = declare({
  ls: {
    prints: "`{ tasks: [{ id, isTask, server, tool, startedAt, status, statusMessage, isOver }] }`",
    does: "list the tasks you started, until a week after they end",
    options: [
      ...serverOptions,
      ["--all", "include older ones that their servers still keep"],
      ["--refresh", "ask each server for the state of its tasks"],
      ["--server <server>", "only tasks of this server"],
      timeout("how long to wait for each server with --refresh (default: 30)"),
    ],
    examples: [
      ["holdfast ls", "lists tasks with the status last seen"],
      ["holdfast ls --refresh", "asks their servers for the current status"],
    ],
  },
  result: {
    prints: taskJson,
    does: "wait for a task and print its result",
    args: [id],
    options: [...ofTask, save, maxChars],
    examples: [
      ["holdfast result 2", "waits for the result of task 2 in the last list"],
      ["holdfast result 01a200 --timeout 60", "waits for a minute at most; the task continues"],
      ["holdfast result last --save out", "saves the images and files of the result"],
    ],
  },
  watch: {
    prints: taskJson,
    does: "show a task's progress until it ends, then print its result",
    args: [id],
    options: [...ofTask, save, maxChars],
    examples: [["holdfast watch last", "follows the most recently started task, from any terminal"]],
  },
  get: {
    prints: taskJson,
    does: "show the state of a task",
    args: [id],
    options: ofTask,
    examples: [["holdfast get 01a200", "shows the task whose id starts with 01a200"]],
  },
  logs: {
    prints:
      "a line of the log each: `{ seq, at, step, level, text, data }`; with `--output`, a part of the output each: `{ seq, at, content }`",
    does: "print a task's log",
    args: [id],
    options: [
      ...ofTask,
      ["-f, --follow", "keep printing until the task has ended"],
      ["--output", "print its output so far instead"],
    ],
    examples: [["holdfast logs 01a200 -f", "prints each line as the tool logs it"]],
  },
  answer: {
    prints: taskJson,
    does: "answer a task's question, with the given values or on the terminal",
    args: [id, ["[pairs...]", "key=value, converted by the question's schema, key:=json, or key=@file"]],
    options: [
      ...ofTask,
      ["--args <json>", "more values: a JSON object, @file, or - for stdin"],
      ["--accept", "agree to a question that asks for no values"],
      ["--decline", "decline to answer"],
      ["--cancel-question", "dismiss the question without answering it"],
      ["--question <key>", "the question's key, if several are open"],
    ],
    examples: [
      ["holdfast answer 01a200", "asks you the task's question"],
      ["holdfast answer 01a200 confirm=true", "answers without a terminal"],
    ],
  },
  cancel: {
    prints: taskJson,
    does: "cancel a task",
    args: [id],
    options: ofTask,
    examples: [["holdfast cancel 01a200", "asks the server to end the task"]],
  },
  forget: {
    prints: "`{ ids }`",
    does: "remove tasks from the list, for example when their server is gone",
    args: [["[id...]", taskForms]],
    options: [["--lost", "all that their servers did not know when they were last asked"], json],
    examples: [
      ["holdfast forget 01a200 2", "forgets them here; the tasks themselves may continue"],
      ["holdfast forget --lost", "forgets those that ls --refresh found to be lost"],
    ],
  },
});

export const contentCommands = declare({
  resources: {
    prints: "`{ server: { name, version }, resources, resourceTemplates }`: each as the server sent it",
    does: "list a server's resources and templates",
    args: [server],
    options: asking,
    examples: [[`holdfast resources ${url}`, "lists resources and URI templates"]],
  },
  read: {
    prints: "`{ server, uri, result }`: the result as the server sent it",
    does: "print a resource, or write its bytes to a pipe",
    args: [server, ["<uri>", "the resource's URI"]],
    options: [
      ...asking,
      ["-f, --follow", "print it again each time the server says that it has changed"],
      save,
      maxChars,
    ],
    examples: [
      ["holdfast read reports reports://2026-10", "prints the resource, if it is text"],
      ["holdfast read reports reports://2026-10/chart --save .", "saves it as a new file"],
    ],
  },
  prompts: {
    prints: "`{ server: { name, version }, prompts }`: each as the server sent it",
    does: "list a server's prompts with their arguments",
    args: [server],
    options: asking,
    examples: [["holdfast prompts reports", "lists prompts with their arguments"]],
  },
  prompt: {
    prints: "`{ server, prompt, result }`: the result as the server sent it",
    does: "print a prompt, filled in with arguments",
    args: [server, ["<name>", "the prompt's name"], ["[pairs...]", "key=value, or key=@file"]],
    options: [...asking, save],
    examples: [
      ["holdfast prompt reports review month=2026-10", "prints the messages for the model"],
      ["holdfast prompt reports review month=2026-10 text=@notes.md", "reads an argument from a file"],
    ],
  },
  complete: {
    prints: "`{ values, total, hasMore }`",
    does: "ask the server to complete an argument of a prompt or URI template",
    args: [
      server,
      ["<kind>", "what the argument belongs to", { choices: ["prompt", "resource"] }],
      ["<name>", "the prompt's name, or the URI template"],
      ["<pairs...>", "key=value; completes the last one, given those before it"],
    ],
    options: asking,
    examples: [
      ["holdfast complete reports prompt review month=2026-", "lists the months that start with 2026-"],
      [
        "holdfast complete reports resource 'reports://{year}/{month}' year=2",
        "lists the years that start with 2",
      ],
    ],
  },
});
