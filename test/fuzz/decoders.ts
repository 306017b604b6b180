import * as core from "../../src/client/2025-11-25/core-protocol.ts";
import { readAcknowledgement, readCallAnswer, readGetResult } from "../../src/client/2026-07-28/messages.ts";
import { readTask as readSepTask } from "../../src/client/sep-1686/read-task.ts";
import { readToolResult } from "../../src/client/reply/reply.ts";
import { checkReference } from "../../src/client/task/list-tasks.ts";
import * as coreForm from "../../src/generation/2025-11-25.ts";
import { readCursor, readTaskId } from "../../src/generation/message.ts";
import * as extensionForm from "../../src/generation/2026-07-28.ts";
import * as listen from "../../src/generation/2026-07-28-listen.ts";
import * as sepForm from "../../src/generation/sep-1686.ts";
import { isRepeat, readIdempotencyKey } from "../../src/generation/extensions.ts";
import { judgeAnswer } from "../../src/runtime/questions/questions.ts";
import { requestHash } from "../../src/runtime/call-keys.ts";
import { Scopes } from "../../src/server/auth/oauth-resource.ts";
import * as requestsIn from "../../src/server/http/sessions/request-ids.ts";
import { messageFault } from "../../src/server/limits.ts";

const methods = ["tasks/get", "tasks/update", "tasks/cancel", "tasks/result"] as const;
const scopes = new Scopes({ tools: { constructor: ["a"] }, tasks: ["b"] });

/** By what they read. */
export const decoders: Readonly<Record<string, (input: never) => unknown>> = {
  "task of 2025-11-25 in params": coreForm.readTaskParams,
  "task id": (input) => methods.map((method) => readTaskId(method, input)),
  "task of SEP-1686 in params": (input) => [sepForm.asksForTask(input), sepForm.readTaskParams(input)],
  "related task of SEP-1686": (input) => sepForm.relatedTaskOf(sepForm.withRelatedTask(input, "t")),
  "client capabilities of SEP-1686": (input) => sepForm.declaresTask(input, "elicitation/create"),
  "cursor of a list": readCursor,
  "immediate response": coreForm.immediateResponseOf,
  "related task": (input) => [
    coreForm.relatedTaskOf(input),
    coreForm.relatedTaskOf(coreForm.withRelatedTask(input, "t")),
  ],
  "client capabilities of 2025-11-25": (input) => [
    coreForm.declaresTasks(input),
    coreForm.takesTasks(input, "elicitation/create"),
    coreForm.clientCancels(input),
    coreForm.serverTakesTasks(input),
    coreForm.serverLists(input),
  ],
  "tasks/get of 2026-07-28": (input) => extensionForm.readCommand("tasks/get", input),
  "tasks/update of 2026-07-28": (input) => extensionForm.readCommand("tasks/update", input),
  "tasks/cancel of 2026-07-28": (input) => extensionForm.readCommand("tasks/cancel", input),
  "capabilities of 2026-07-28": (input) => {
    const capabilities = extensionForm.readCapabilities(input) ?? {};
    const names = ["elicitation", "__proto__", "constructor"];
    return [
      extensionForm.declaresTasks(capabilities),
      extensionForm.missingCapabilities(names, capabilities),
    ];
  },
  "listen filter": (input) => {
    const listening = listen.taskListening(input);
    listen.subscriptionOf(input);
    listen.acknowledgedTasks(input, { taskIds: ["t"], uris: ["task://t/log"] });
    return listening === undefined ? [] : listen.readTaskIds(listening.taskIds);
  },
  "ids of a listen filter": (input) => listen.readTaskIds(input),
  "retry of a prepared call": extensionForm.readRetry,
  "idempotency key": (input) => [
    readIdempotencyKey(input, null),
    readIdempotencyKey(input, "p"),
    isRepeat(input),
  ],
  "body of a session": (input) => [
    requestsIn.requestIds(input),
    requestsIn.idToAnswer(input),
    requestsIn.isPoll(input),
  ],
  "body, for its scopes": (input) => scopes.neededFor(input),
  "body, for its form": (input) => messageFault(input, 3),
  "answer to a question": (input) => [
    judgeAnswer(
      "elicitation/create",
      { requestedSchema: { type: "object", properties: { a: { type: "string" } } } },
      input,
    ),
    judgeAnswer("elicitation/create", { requestedSchema: input }, { action: "accept", content: {} }),
    judgeAnswer("sampling/createMessage", {}, input),
    judgeAnswer("roots/list", {}, input),
  ],
  "request, for its hash": (input) => requestHash("tool", input),
  "server's answer to a call (2026-07-28)": readCallAnswer,
  "server's answer to tasks/get (2026-07-28)": (input) => readGetResult(input, "t"),
  "server's acknowledgement (2026-07-28)": readAcknowledgement,
  "server's answer to a call (2025-11-25)": core.readCallAnswer,
  "server's answer to tasks/get (2025-11-25)": (input) => core.readAbout(input, "t"),
  "server's answer to tasks/get (SEP-1686)": (input) => readSepTask(input, "t"),
  "server's result (2025-11-25)": readToolResult,
  "reference to a task": (input) => checkReference(input, "http://a.example", "2026-07-28"),
};

/** Those that are given an object, which whoever calls them has made sure of. */
export const ofObjects =
  /^(server's|retry|idempotency|listen filter|client capabilities|related task|immediate)/;
