import { contentCommands, taskCommands, toolCommands } from "./client-commands.ts";
import { shells } from "./completion/scripts.ts";
import {
  databaseForms,
  type DeclaredCommand,
  declare,
  everything,
  type GivenTo,
  json,
  placeForms,
  port,
} from "./declare.ts";

const store = ["<store>", databaseForms] as const;

const serverCommands = declare({
  init: {
    prints: "`{ folder, files }`",
    does: "write a starter project: a server, a client, a test and a Dockerfile",
    args: [["[dir]", "the project's folder", { default: "." }]],
    options: [["--tarball <file>", "a packed Holdfast to copy into the project"], json],
    examples: [["holdfast init reports", "writes a project to the folder reports"]],
  },
  serve: {
    does: "serve programs, APIs and other MCP servers as durable tools, as a file says",
    args: [
      ["[file]", "the file, YAML or JSON (default: tools.yaml)"],
      ["[pairs...]", "with --dry-run: the arguments, as for call"],
    ],
    usage: "[options] [file] | --upstream <url> | -- <command>",
    options: [
      ["--check", "look for mistakes, programs and servers, and serve nothing"],
      ["--dry-run <tool>", "print what a call of this tool would run or send, and run nothing"],
      ["--init", "write the file, with examples and comments"],
      ["--schema", "print the JSON Schema of the file, for editors"],
      ["--stdio", "serve the one client on stdin and stdout, whatever the file says"],
      ["--port <port>", "the port to listen on, whatever the file says", { parse: port }],
      ["--upstream <url>", "serve the tools of this MCP server, without a file"],
      ["--program <line>", "the words after --, quoted", { hidden: true }],
    ],
    examples: [
      ["holdfast serve --init", "writes tools.yaml, with examples"],
      ["holdfast serve tools.yaml", "serves its tools, and follows its changes"],
      ["holdfast serve tools.yaml --dry-run count_lines file=notes.md", "prints what a call would run"],
      [`holdfast serve -- ${everything}`, "makes the tools of another server durable"],
    ],
  },
  replay: {
    does: "answer over stdio as a recorded server did, without it",
    args: [["<file>", "what --record wrote"]],
    examples: [
      ["holdfast replay wire.jsonl", "is a server: holdfast call add a=1 b=2 -- holdfast replay wire.jsonl"],
    ],
  },
  dashboard: {
    prints: "`{ link }`, once it listens",
    does: "serve a page to inspect and manage a server's tasks, until Ctrl-C",
    args: [["<store>", placeForms]],
    options: [
      ["--port <port>", "the port to listen on; 0 is any free one", { parse: port, default: 0 }],
      [
        "--host <address>",
        "the address to listen on; if others can reach it, anyone with the link can use the page",
        { default: "127.0.0.1" },
      ],
      ["--path <path>", "the path of the page", { default: "/holdfast" }],
      ["--read-only", "show tasks, but allow no actions"],
      ["--as <name>", "the name to record with actions (default: your user name)"],
      ["--blobs <folder>", "the files that tasks keep there, outside of the store"],
      json,
    ],
    examples: [["holdfast dashboard tasks.db", "serves the dashboard, and prints a link that logs in"]],
  },
  admin: {
    does: "inspect and manage a server's tasks",
    args: [["[store]", placeForms]],
    usage: "<store> <command> [options]",
    examples: [
      ["holdfast admin tasks.db list --state failed", "lists failed tasks"],
      ["holdfast admin tasks.db show 01a200", "shows why, attempt by attempt"],
    ],
  },
  inbox: {
    prints: "`{ messages }` with the `InboxMessage` of `holdfast/host` of each result",
    does: "show the results that a conversation of an agent has not taken, or hand them to a program",
    args: [store, ["<conversation>", "its id, as the agent names it"]],
    options: [
      [
        "--exec <program>",
        "run it with each result as JSON on its stdin; its exit code 0 acknowledges the result",
      ],
      ["--follow", "with --exec: wait for further results, until Ctrl-C"],
      json,
    ],
    examples: [
      ["holdfast inbox agent.db chat-17", "shows results that this conversation has not taken"],
      ["holdfast inbox agent.db chat-17 --exec ./append --follow", "hands each of them to a program"],
    ],
  },
  journal: { does: "look at the tasks in a server's store, even while the server is stopped" },
  "journal ls": {
    prints: "`{ tasks: [{ id, tool, toolVersion, state, waiting, createdAt }] }`",
    does: "list the unfinished tasks, with the versions of their tools",
    args: [store],
    options: [json],
    examples: [["holdfast journal ls tasks.db", "lists unfinished tasks"]],
  },
  "journal export": {
    prints: "`JournalRecording` of `holdfast/testing`, with or without `--json`",
    does: "print everything stored about a task as JSON, for checkReplay",
    args: [store, ["<id>", "the task's full id"]],
    options: [
      ["--output <file>", "write to this file instead of stdout"],
      ["--json", "print errors as JSON too"],
    ],
    examples: [
      [
        "holdfast journal export tasks.db 01a2005m7e21 --output task.json",
        "writes a recording that a test can replay",
      ],
    ],
  },
  check: {
    prints:
      "`{ ok, journals: [{ taskId, tool, toolVersion, ok, problems, added, unreached, renamed, changed, end }] }`: `ReplayReport` of `holdfast/testing`",
    does: "check that new code of tools continues recorded tasks",
    args: [["<journals...>", "files or folders of journal export or admin export, or - for stdin"]],
    options: [["--tools <file>", "the module that exports the tools", { required: true }], json],
    examples: [
      [
        "holdfast check recordings --tools ./tools.ts",
        "runs the handlers on the recordings of a folder, and no step",
      ],
      [
        "holdfast check waiting.jsonl --tools ./tools.ts",
        "does the same with what admin STORE export --state waiting wrote",
      ],
    ],
  },
  migrate: {
    prints: "`{ schema, from, to, dryRun }`: the versions of the schema",
    does: "bring the schema of a Postgres store up to date",
    args: [
      [
        "<url>",
        "postgres://HOST/DATABASE, with a role that may change it; its password can be in PGPASSWORD",
      ],
    ],
    options: [
      ["--schema <name>", "the store's schema, if not holdfast"],
      ["--dry-run", "print what would be done, and change nothing"],
      json,
    ],
    examples: [["holdfast migrate postgres://db.example/app --dry-run", "prints what would be done"]],
  },
});

const otherCommands = declare({
  docs: {
    prints: "`{ topics: [{ topic, part, title }] }`; with words `{ topic, text }`, Markdown",
    does: "print a page of the documentation, or what an error code means",
    args: [["[topic...]", "a page, an error code, or words to search for (default: list the pages)"]],
    options: [json],
    examples: [
      ["holdfast docs operations", "prints a page"],
      ["holdfast docs store_locked", "says what an error code means, and what to do"],
      ["holdfast docs AGENTS.md > AGENTS.md", "writes rules for agents that work on your tools"],
      ["holdfast docs rolling deploys", "prints what says most about these words"],
    ],
  },
  completion: {
    does: "print a shell script that completes commands, servers, tools and tasks",
    args: [["<shell>", "the shell", { choices: shells }]],
    examples: [["holdfast completion bash", 'for ~/.bashrc: eval "$(holdfast completion bash)"']],
  },
});

/** All commands in the order of the help, under their headings. Those below `admin` are operations, which have a table of their own. */
export const groups = {
  "Tools:": toolCommands,
  "Tasks:": taskCommands,
  "Resources and prompts:": contentCommands,
  "Servers of your own:": serverCommands,
  "Commands:": otherCommands,
} as const;

type Commands = typeof toolCommands &
  typeof taskCommands &
  typeof contentCommands &
  typeof serverCommands &
  typeof otherCommands;

/** The commands that do something by themselves. */
export type CommandName = Exclude<keyof Commands, "admin" | "journal">;

/** What the code of a command gets. */
export type Given<Name extends CommandName> = GivenTo<Commands[Name]>;

/** All commands with their words. */
export const allCommands: readonly (readonly [words: string, DeclaredCommand])[] = Object.values(
  groups,
).flatMap((commands) => Object.entries<DeclaredCommand>(commands));
