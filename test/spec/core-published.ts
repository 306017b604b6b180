import type { Requirement } from "./requirement.ts";

/** What only the draft of 2025-11-25 said; the final text has it otherwise. */
// One requirement per line, as in a table.
// prettier-ignore
export const coreDraft: readonly Requirement[] = [
  { id: "C-D-001", level: "SHAPE", who: "server", text: "The draft's tool flag is annotations.taskHint: always, optional or never." },
  { id: "C-D-002", level: "MUST NOT", who: "client", text: "Augments tool calls where the draft's boolean tools.call is false." },
  { id: "C-D-003", level: "MUST NOT", who: "client", text: "Augments a call of a tool whose taskHint is absent or never." },
  { id: "C-D-004", level: "SHOULD", who: "client", text: "Augments calls of a tool whose taskHint is always; the server may run it all the same." },
  { id: "C-D-005", level: "SHAPE", who: "requestor", text: "Reads tasks of the draft, which have no lastUpdatedAt." },
  { id: "C-D-006", level: "IMPLIED", who: "client", text: "The draft does not speak of task messages on other streams, nor of leaving one." },
  { id: "C-D-007", level: "IMPLIED", who: "both", text: "A tasks capability may have requests alone, without list and cancel." },
];

/** Where the published text differs from the text that the rows above were taken from. */
// One requirement per line, as in a table.
// prettier-ignore
export const corePublished: readonly Requirement[] = [
  { id: "C-P-001", level: "SHOULD NOT", who: "receiver", text: "Declares tasks.list where it cannot tell requestors apart." },
  { id: "C-P-002", level: "IMPLIED", who: "receiver", text: "A failed request's outcome is its JSON-RPC error, where one text says response." },
  { id: "C-P-003", level: "IMPLIED", who: "requestor", text: "The ttl that a requestor asks for counts from creation." },
  { id: "C-P-004", level: "SHAPE", who: "both", text: "Under 2026-07-28 core tasks are gone: tasks/result and tasks/list are -32601, params.task is ignored, the capability is not declared." },
];
