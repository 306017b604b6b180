import type { TaskClientErrorCode } from "../../src/client/task-client-error.ts";
import type { ErrorJson } from "../../src/cli/output/json-shapes.ts";
import type { ErrorHelp } from "./server-errors.ts";

/** The codes of `TaskClientError`, which commands print with `--json` as the `kind` of an error. */
export const clientErrors: Readonly<Record<TaskClientErrorCode, ErrorHelp>> = {
  failed: {
    meaning: "The task failed; `error` is the JSON-RPC error as the server stored it.",
    cause: "The tool's work failed, or its server blocked it and an operator ended it.",
    cure: "Read the message, and the task's log: `holdfast logs ID`. Call again once the cause is gone.",
  },
  cancelled: {
    meaning: "The task was cancelled.",
    cause: "A user, another client or an operator cancelled it.",
    cure: "Call again if the work is still wanted.",
  },
  expired: {
    meaning: "The task reached the end of its life, or the server no longer knows it.",
    cause: "It lived as long as its `ttlMs`, its store was replaced, or you are logged in as somebody else.",
    cure: "Fetch results earlier, ask for a longer `ttlMs`, or check the login and the server's store.",
  },
  unknown_task: {
    meaning: "The server does not know the task, and this client never saw it.",
    cause: "A wrong id or server, or a task of another user.",
    cure: "Check the id, the server and the login; `holdfast ls` lists the tasks that you started.",
  },
  rpc: {
    meaning: "The server answered with a JSON-RPC error; `error` has its number and text.",
    cause: "The request does not fit the server, or the server failed.",
    cure: "Read the message; the table of numbers is below. `holdfast doctor SERVER` shows what the server can do.",
  },
  missing_capability: {
    meaning: "The call needs a capability that the client did not declare; `error.data` names it.",
    cause: "The tool asks questions, and the client has no `onInput` for them.",
    cure: "Give the client an `onInput`, or call a tool that does not ask.",
  },
  connection: {
    meaning:
      "The server could not be reached, answered with an HTTP error, or its process ended, and repeating the request was not safe or not useful.",
    cause:
      "The server is down, the address is wrong, a proxy is between, or the command of the server fails.",
    cure: "Run `holdfast doctor SERVER`. A task goes on: `client.resume` or `holdfast watch ID` finds it again.",
  },
  unauthorized: {
    meaning: "The server refuses the caller (HTTP 401 or 403).",
    cause: "There is no login, it has expired, or it lacks scopes.",
    cure: "Run `holdfast login SERVER`, or set the header that the server wants.",
  },
  protocol: {
    meaning: "The server's answer breaks the protocol.",
    cause: "The address is not that of an MCP server, or the server or a proxy has a bug.",
    cure: "Check the address (often it ends in `/mcp`), and record the exchange with `--record FILE` for its author.",
  },
  unanswered: {
    meaning: "A question that the server asked before it created a task could not be answered.",
    cause: "There is no terminal or no `onInput` to answer it.",
    cure: "Run the command in a terminal, or give the client an `onInput`.",
  },
  reference: {
    meaning: "The value is no task reference, or belongs to another server.",
    cause: "It was cut off when it was stored, or the client is connected elsewhere.",
    cure: "Store the whole reference, and connect to the server that it came from.",
  },
  handles: {
    meaning: "The store of handles failed: nothing was sent; with a `reference`, the task is running.",
    cause: "A full disk, or a folder that cannot be written; `cause` says which.",
    cure: "Repair that, and call again. For commands, `HOLDFAST_STATE` names the folder.",
  },
  timeout: {
    meaning: "The wait took longer than its `timeoutMs` or `--timeout`. The task continues.",
    cause: "The work takes longer.",
    cure: "Wait again: `handle.result()` or `holdfast watch ID`.",
  },
  aborted: {
    meaning: "The `signal` of a call was aborted once it had a task, which continues.",
    cause: "Your code gave up the wait.",
    cure: "Keep the error's `reference` to come back, or cancel the task.",
  },
  closed: {
    meaning: "The client was closed. The task continues.",
    cause: "`close` was called during the wait.",
    cure: "Connect again, and `resume` the task.",
  },
};

/** Further kinds of errors of commands. */
export const commandErrors: Readonly<
  Record<Exclude<ErrorJson["error"]["kind"], TaskClientErrorCode>, ErrorHelp>
> = {
  usage: {
    meaning:
      "The command was not understood, or does not fit the server, the tool or the task. Nothing was done.",
    cause: "A typo, a missing argument, or a task in another state.",
    cure: "The message says what to change; `holdfast help COMMAND` shows the options.",
  },
  stopped: {
    meaning: "You or `--timeout` ended a wait. The task continues.",
    cause: "Ctrl-C, SIGTERM, or the time was over.",
    cure: "Come back with `holdfast watch ID`.",
  },
  system: {
    meaning: "A file cannot be read or written.",
    cause: "A full disk, or a state folder that cannot be written; the message says which file and why.",
    cure: "Repair that, or name another folder in `HOLDFAST_STATE`.",
  },
  fault: {
    meaning: "This program has a bug.",
    cause: "The stack that is printed says where.",
    cure: "Report it with the stack.",
  },
};
