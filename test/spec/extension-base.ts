import type { Requirement } from "./requirement.ts";

/** Where the published text and its schema differ from, or add to, the text of the extension. */
// One requirement per line, as in a table.
// prettier-ignore
export const extensionPublished: readonly Requirement[] = [
  { id: "X-P-001", level: "SHAPE", who: "both", text: "The missing-capability code is -32021 as published, -32003 in older text; the client accepts both." },
  { id: "X-P-002", level: "MUST", who: "server", text: "The missing-capability error has HTTP status 400." },
  { id: "X-P-003", level: "MUST", who: "server", text: "Checks authentication and authorization on every task request." },
  { id: "X-P-004", level: "SHAPE", who: "both", text: 'Examples with resultType "task" on tasks/get are errata: emit "complete", accept "task".' },
  { id: "X-P-005", level: "SHAPE", who: "server", text: "Params of the status notification are a detailed task, not only a task." },
  { id: "X-P-006", level: "SHAPE", who: "server", text: "A failed task's error is a JSON-RPC error: code and message are required." },
  { id: "X-P-007", level: "SHAPE", who: "server", text: 'resultType is fixed: "task" on creation, "complete" on get, update and cancel.' },
  { id: "X-P-008", level: "IMPLIED", who: "client", text: "On input_required the client inspects inputRequests." },
  { id: "X-P-009", level: "IMPLIED", who: "server", text: "Cancel is acknowledged on success; an unknown id stays an error." },
  { id: "X-P-010", level: "IMPLIED", who: "server", text: "After a partial update the task stays input_required." },
  { id: "X-P-011", level: "MUST", who: "server", text: "tasks/result under 2026-07-28: -32601, HTTP 404." },
  { id: "X-P-012", level: "MUST", who: "server", text: "params.task on tools/call is ignored, never an opt-in." },
  { id: "X-P-013", level: "MUST NOT", who: "server", text: "Advertises the legacy capabilities.tasks under a protocol version that has the extension." },
  { id: "X-P-014", level: "MUST", who: "server", text: "A client that declares only the legacy tasks capability counts as not declaring." },
  { id: "X-P-015", level: "SHOULD", who: "server", text: "Supporting both, keeps tasks/get and tasks/cancel working for tasks made the legacy way." },
  { id: "X-P-016", level: "MUST NOT", who: "server", text: "Lets the extension key enable tasks under 2025-11-25." },
  { id: "X-P-017", level: "IMPLIED", who: "both", text: "The generations differ on the wire: dispatch by negotiated version and declared capability." },
  { id: "X-P-018", level: "IMPLIED", who: "client", text: "Input keys before creation and during the task are separate name spaces, not deduplicated across." },
  { id: "X-P-019", level: "IMPLIED", who: "server", text: "tasks/cancel on a terminal task gives the same empty acknowledgement." },
  { id: "X-P-020", level: "IMPLIED", who: "server", text: "No requestState in tasks, no related-task in the inlined result, no early expiry, no old field names." },
  { id: "X-P-021", level: "SHAPE", who: "server", text: "Input content is checked against its requestedSchema, whatever the mismatched example shows." },
];

/** What the extension stands on: the base protocol 2026-07-28. */
// One requirement per line, as in a table.
// prettier-ignore
export const extensionBase: readonly Requirement[] = [
  { id: "X-B-001", level: "MUST", who: "client", text: "Every request carries protocolVersion and clientCapabilities in _meta, and should carry clientInfo." },
  { id: "X-B-002", level: "MUST", who: "server", text: "A missing required _meta field: -32602, HTTP 400." },
  { id: "X-B-003", level: "MUST NOT", who: "server", text: "Infers capabilities from earlier requests: they are per request." },
  { id: "X-B-004", level: "MUST", who: "server", text: "Unsupported version: -32022 with the supported and requested versions, HTTP 400." },
  { id: "X-B-005", level: "MUST", who: "server", text: "Implements server/discover: versions, capabilities, instructions, ttlMs, cacheScope, serverInfo." },
  { id: "X-B-006", level: "MUST", who: "both", text: "All results have resultType; absence is taken as complete, an unknown value as invalid." },
  { id: "X-B-007", level: "MUST", who: "server", text: "Extension missing on one side: falls back to core behaviour or gives a proper error." },
  { id: "X-B-008", level: "SHAPE", who: "server", text: "An input_required result has inputRequests, requestState or both; only on calls, prompts and resources." },
  { id: "X-B-009", level: "MUST", who: "client", text: "Retries with a new id, inputResponses and the unchanged requestState, if one was given." },
  { id: "X-B-010", level: "MUST", who: "server", text: "Takes requestState as attacker-controlled: protects its integrity and rejects a bad one." },
  { id: "X-B-011", level: "MUST NOT", who: "server", text: "Sends input requests of a kind that the client did not declare." },
  { id: "X-B-012", level: "MUST", who: "server", text: "The acknowledgement is the first message of a subscription." },
  { id: "X-B-013", level: "MUST", who: "server", text: "Every message of a subscription has the id of the listen request in _meta, of the same type." },
  { id: "X-B-014", level: "MUST NOT", who: "server", text: "Sends a notification type that was not asked for." },
  { id: "X-B-015", level: "SHOULD", who: "server", text: "Ends a subscription by answering the listen request with a complete result, then closes." },
  { id: "X-B-016", level: "MUST", who: "client", text: "Cancels a request over HTTP by closing its stream, on stdio by notifications/cancelled." },
  { id: "X-B-017", level: "MUST", who: "server", text: "A closed response stream cancels that request; a task already returned is unaffected." },
  { id: "X-B-018", level: "MUST", who: "client", text: "HTTP POST has MCP-Protocol-Version, Mcp-Method and, where there is a name, Mcp-Name." },
  { id: "X-B-019", level: "MUST", who: "server", text: "A missing or different header: -32020, HTTP 400." },
  { id: "X-B-020", level: "MUST", who: "both", text: "Header values that are not plain ASCII use the base64 sentinel; decoded before comparing." },
  { id: "X-B-021", level: "MUST", who: "server", text: "An unknown method over HTTP: -32601, status 404." },
  { id: "X-B-022", level: "MUST NOT", who: "server", text: "Sends requests to the client, or has sessions, a GET stream or Last-Event-ID, in this version." },
  { id: "X-B-023", level: "MUST NOT", who: "client", text: "Sends JSON-RPC responses in this version." },
  { id: "X-B-024", level: "MUST", who: "client", text: "On stdio tells subscriptions apart by subscriptionId and listens again after a restart." },
];
