import type { HttpRefusal } from "../../src/runtime/events/server-event.ts";
import type { ExecError } from "../../src/runtime/exec/exec-options.ts";
import type { FaultCode } from "../../src/task/fault.ts";

/** What an error code says, what leads to it, and what to do then. */
export interface ErrorHelp {
  readonly meaning: string;
  readonly cause: string;
  readonly cure: string;
}

/** The codes of `HoldfastError`. */
export const faults: Readonly<Record<FaultCode, ErrorHelp>> = {
  unknown_task: {
    meaning: "There is no such task for this caller.",
    cause:
      "The id is wrong, the task has expired (`keepMs` after its end, or `ttlMs` after its creation if one is set), it belongs to another caller, or the server uses another store than before. Callers get the same text in each case.",
    cure: "Check the id and who you are logged in as. If results are fetched late, raise `keepMs`, or `ttlMs` if you set one. After a deploy, check that `HOLDFAST_STORE` still names the same store.",
  },
  finished: {
    meaning: "The task has ended, and the request needs one that has not.",
    cause: "A cancel, an answer or an action arrived after the end of the task.",
    cure: "Fetch the result. Nothing else is left to do.",
  },
  unfinished: {
    meaning: "The task has not ended, and the request needs one that has.",
    cause: "An operator tried to rerun or delete a task that still works, or a client deleted one.",
    cure: "Wait for its end, or cancel it first.",
  },
  invalid_params: {
    meaning: "The request's parameters are wrong.",
    cause:
      "Arguments do not fit the tool's schema, a tool does not exist, or a parameter has the wrong type.",
    cure: "The message names the parameter. Compare the call with `holdfast tools SERVER TOOL`.",
  },
  invalid_request: {
    meaning: "The message is no request that the server can take.",
    cause: "It is not valid JSON-RPC, or it names a protocol version or a header that contradicts it.",
    cure: "Use an MCP SDK or `holdfast/client`, and look for proxies that change requests.",
  },
  method_not_found: {
    meaning: "The server does not offer this method, or nothing is served at this path.",
    cause: "The client speaks another generation of tasks than the server, or the URL has a wrong path.",
    cure: "Run `holdfast doctor SERVER`: it lists what the server offers.",
  },
  idempotency_conflict: {
    meaning: "The idempotency key belongs to another call.",
    cause: "A key was used again with another tool or with other arguments.",
    cure: "Make a new key for each new call, and repeat a call with exactly its arguments.",
  },
  wire_id_taken: {
    meaning: "The task id that the client chose belongs to another task.",
    cause: "A client of the early form of tasks (SEP-1686) used an id twice.",
    cure: "Choose a random id for each task, such as a UUID.",
  },
  missing_capability: {
    meaning: "The call needs a capability that the client did not declare.",
    cause: "A tool asks questions, and the client cannot; `data.requiredCapabilities` names what is missing.",
    cure: "Declare the capability and handle the questions, or call a tool that does not ask.",
  },
  insufficient_scope: {
    meaning: "The caller's token lacks scopes; `data.requiredScopes` names all that are needed.",
    cause:
      "A tool has `scopes`, and the token was issued without them; or the operator's role is not enough.",
    cure: "Log in again and grant the scopes: `holdfast login SERVER`.",
  },
  unauthenticated: {
    meaning: "The server does not know who is asking.",
    cause: "The token of an admin endpoint is missing or wrong, or a connection is used by another caller.",
    cure: "Set the token that the server has in `HOLDFAST_ADMIN_TOKEN`.",
  },
  limit_reached: {
    meaning:
      "The caller, a tool or the server has as much as a limit allows; `data.retryAfterMs` says when to retry.",
    cause: "Too many unfinished tasks, streams or stored bytes for one of the limits in the configuration.",
    cure: "Retry after the given time. If the load is wanted, raise the limit that the message names.",
  },
  rate_limited: {
    meaning:
      "Too many requests in a short time, or an overloaded process; `data.retryAfterMs` says when to retry.",
    cause: "A caller is faster than `rates` allows, or polls without a pause.",
    cure: "Wait for the given time, and poll no faster than the server says. Raise `rates` for callers that you trust.",
  },
  stream_lost: {
    meaning: "The connection of a request broke, and its client did not come back for the answer in time.",
    cause: "A proxy or a client ended the stream, or the server was restarted.",
    cure: "Repeat the call if `data` says that this is safe; call long tools as tasks, which survive this. Raise the timeouts of proxies.",
  },
  too_large: {
    meaning: "A message, a result or a stored value is larger than an option allows.",
    cause: "The message names the option, for example `maxBodyBytes`.",
    cure: "Return large data as an artifact or a link, or raise the option. If it is a key, put a hash of the long part into it.",
  },
  stopping: {
    meaning: "The process is shutting down and takes no more work.",
    cause: "A deploy, a restart or Ctrl-C.",
    cure: "Retry: another process, or the next one, answers. Tasks continue there.",
  },
  internal: {
    meaning: "The server made a mistake. Callers do not see what it was.",
    cause: "A handler threw something unexpected, or there is a bug.",
    cure: "Look at what `onError` or the server's log says at that time.",
  },
  duplicate_key: {
    meaning: "A handler used one key for two steps, questions or waits.",
    cause: "A loop that gives each step the same key.",
    cure: 'Put the item into the key: `task.step(["hash", path], …)`.',
  },
  nested_step: {
    meaning: "A handler started a step inside of a step.",
    cause: "The function of a step uses `task.step`, `task.sleep`, `task.elicit` or the like.",
    cure: "Do that in the handler itself, before or after the step.",
  },
  not_json: {
    meaning: "A value cannot be stored.",
    cause:
      "A step or a handler returned a function, a class instance, a cycle or another value that the journal cannot keep.",
    cure: "Return plain data. The message says which member cannot be stored.",
  },
  replay_mismatch: {
    meaning: "The handler does something else under a key than the journal says it did.",
    cause:
      "The code was changed under a waiting task, or it depends on the time, on randomness or on the outside between steps.",
    cure: "Use a new key for what has changed, or raise the tool's `version`. Then retry the blocked tasks.",
  },
  step_timeout: {
    meaning: "A step or a program took longer than its `timeoutMs`.",
    cause: "The outside is slow or hangs.",
    cure: "Give the step `retries`, raise its `timeoutMs`, and end work when its `signal` is aborted.",
  },
  worker_crashed: {
    meaning: "The thread of a step ended before its function did.",
    cause: "It called `process.exit`, ran out of memory, or threw outside of the function.",
    cure: "The message says how it ended. Raise the memory of threads, or do less in one step.",
  },
  step_not_awaited: {
    meaning:
      "A step failed after its handler had returned; a step, a call of a tool or a file was left before it had begun, and is lost; or a promise of the handler was rejected, and nothing handles that. The task keeps its result, and the process goes on.",
    cause: "The handler did not await it.",
    cure: "Await each step, call and file before the handler returns.",
  },
  attempt_timeout: {
    meaning: "An attempt worked longer without a wait than its tool's `timeoutMs` allows.",
    cause: "The handler hangs, or has a lot to do in one go.",
    cure: "Raise `timeoutMs`, or split the work into steps and tasks.",
  },
  input_timeout: {
    meaning: "A question was not answered within its `timeoutMs`.",
    cause: "Nobody saw the question, or the client cannot ask its user.",
    cure: "Catch it and go on without an answer, or give people more time.",
  },
  event_timeout: {
    meaning: "No event came within the `timeoutMs` of a wait.",
    cause: "The other side did not send it, sent it to another URL, or with another key.",
    cure: "Catch it and look for the state yourself, or raise `timeoutMs`.",
  },
  poll_timeout: {
    meaning: "What `task.poll` looks for did not come within its `timeoutMs`.",
    cause: "The job elsewhere takes longer, or will never be ready.",
    cure: "Let the function throw if the job has failed, or raise `timeoutMs`.",
  },
  outlives_task: {
    meaning: "A sleep, a question, a poll or a wait would end after its task.",
    cause: "It is longer than what is left of `ttlMs` or `maxRunMs`.",
    cure: "Raise `ttlMs` or `maxRunMs`, or call `task.extend` first.",
  },
  no_credentials: {
    meaning: "The caller's credentials are not in this process.",
    cause: "They are kept in memory only: another process took the call, or the server was restarted.",
    cure: "Get new credentials for `task.caller`, for example by a token exchange.",
  },
  no_request: {
    meaning: "The request that created the task is not in this process.",
    cause: "A handler uses the request or its stream, which end with the call; the task goes on.",
    cure: "Use `task`: it asks questions, reports progress and logs, whoever is connected.",
  },
  input_failed: {
    meaning: "A question could not be asked, or was answered with an error.",
    cause: "The client did not declare that it can be asked, or it failed to show the question.",
    cure: "Catch it, and go on without an answer. Holdfast's client answers by its option `onInput`.",
  },
  handler_leaked: {
    meaning: "A handler keeps running although its task has ended, or its caller has left.",
    cause: "It ignores `task.signal`.",
    cure: "Pass `task.signal` to what the handler waits for, and stop when it is aborted.",
  },
  newer_version: {
    meaning: "Tasks began under a newer version of their tool than this process has.",
    cause: "A rollback, or a rolling deploy that is not finished.",
    cure: "Deploy the newer version again. Until then these tasks wait.",
  },
  fenced: {
    meaning: "The attempt may no longer write: its task runs elsewhere or has ended.",
    cause: "The process was cut off from the store, or paused, and another one took over.",
    cure: "Nothing, if it is rare. If not, look for pauses: a blocked event loop, swapping, a suspended machine.",
  },
  no_result: {
    meaning: "A task of an SDK v1 server has no result.",
    cause: "It was cancelled, or its tool never stored one.",
    cure: "Look at the task's status first.",
  },
  queue_full: {
    meaning: "The message queue of a task of an SDK v1 server is full.",
    cause: "No client fetches the messages.",
    cure: "Send less, or let the client fetch them with `tasks/result`.",
  },
  store_locked: {
    meaning: "Another process holds the store, or is loading it.",
    cause:
      "A process with an older schema still runs, a dump is being loaded, or another program locks the file.",
    cure: "The message names the processes: end the one that should not be there. Finish an interrupted `load`.",
  },
  store_unusable: {
    meaning: "The store cannot be opened as it is.",
    cause:
      "A missing folder or permission, a wrong password, a schema that needs `holdfast migrate`, a damaged file, or an encryption key that is missing.",
    cure: "The message says which. Then start again; nothing was changed.",
  },
  store_failed: {
    meaning: "The store does not answer now.",
    cause: "A full disk, a database that is down or overloaded, or another program that locks the file.",
    cure: "Repair that. Servers try again by themselves, and tasks go on where they were.",
  },
  store_refused: {
    meaning: "The store does not take what was to be written, now or later. Other writes are not affected.",
    cause:
      "A name is too long for an index, a value is larger than the database takes, or a constraint that somebody added to its tables forbids it. The message has the database's own words.",
    cure: "Do what the message says. A handler can catch it and go on; a task whose result is refused ends with an error.",
  },
  task_unreadable: {
    meaning: "The stored data of one task cannot be read. Other tasks are not affected.",
    cause: "An encryption key that is missing here, or a damaged row.",
    cure: "Add the key to `HOLDFAST_ENCRYPTION_KEYS`, or delete the task.",
  },
  store_closed: {
    meaning: "The store is closed.",
    cause: "The process is shutting down, or `close` was called too early.",
    cure: "Close servers before their store, and retry elsewhere.",
  },
  store_lost: {
    meaning: "This process lost its store for good, and has to be restarted.",
    cause:
      "Others considered it dead and took over its tasks, or its database was moved, replaced or encrypted.",
    cure: "Restart the process. Let a supervisor do so when `/readyz` fails.",
  },
  store_url: {
    meaning: "The address of a store is not understood.",
    cause: "A typo in `HOLDFAST_STORE` or in a command's argument.",
    cure: "Use `sqlite:PATH`, `postgres://HOST/DATABASE` or `memory:`.",
  },
  node_too_old: {
    meaning: "This Node.js is too old.",
    cause: "Another version is first in the `PATH` than the one you installed.",
    cure: "Install the version that the message names. `node --version` shows which one runs.",
  },
  address_in_use: {
    meaning: "Another program uses the port.",
    cause: "A previous process still runs.",
    cure: "Stop it, or use another `port`; 0 takes any free one.",
  },
  configuration: {
    meaning: "An option or a variable is wrong.",
    cause: "A typo, a value outside of its bounds, or options that exclude each other.",
    cure: "The message names the option and what it takes.",
  },
};

/** What `task.exec` rejects with, beside the above. */
export const execErrors: Readonly<Record<ExecError["code"], ErrorHelp>> = {
  exec_failed: {
    meaning: "A program ended with an exit code that is not in `successCodes`.",
    cause: "The program failed; `exitCode`, `stdout` and `stderr` say how.",
    cure: "Catch the `ExecError`, add the code to `successCodes`, or give `retries`.",
  },
  exec_lost: {
    meaning: "A program is gone, and nobody knows how it ended.",
    cause: "Its machine has restarted, or something killed all of its processes.",
    cure: 'Check what it did, and run it again under a new key. If it may run twice, set `onCrash: "restart"`.',
  },
};

/** Refusals of HTTP, as `request.refused` and metrics name them. Where a code is one of the above, it means the same. */
export const refusals: Readonly<Record<Exclude<HttpRefusal, FaultCode>, ErrorHelp>> = {
  unauthorized: {
    meaning: "The request has no valid token (HTTP 401).",
    cause: "The token is missing, has expired, or was issued for another server.",
    cure: "Log in again: `holdfast login SERVER`. As operator, look at the audience and the issuer of `authenticate`.",
  },
  forbidden: {
    meaning: "The request is not allowed (HTTP 403).",
    cause: "The `Host` or `Origin` is not an allowed one, or the token lacks a scope.",
    cure: "Add the name to `allowedHosts` or `allowedOrigins`; check the token's scopes.",
  },
  not_found: {
    meaning: "Nothing is served there, or the session is unknown (HTTP 404).",
    cause: "A wrong path, or a session that has ended.",
    cure: "Check the URL. Clients begin a new session by themselves.",
  },
  unavailable: {
    meaning: "The server cannot answer now (HTTP 503).",
    cause: "It is stopping, its store does not answer, or it is overloaded.",
    cure: "Retry after `Retry-After`. As operator, look at `/readyz`.",
  },
};
