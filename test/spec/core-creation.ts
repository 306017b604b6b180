import type { Requirement } from "./requirement.ts";

/** What protocol 2025-11-25 asks of tasks: who has them, how one starts, what it shows, where it goes. */
// One requirement per line, as in a table.
// prettier-ignore
export const coreCreation: readonly Requirement[] = [
  // 1. Roles
  { id: "C-001", level: "IMPLIED", who: "both", text: "Who sends the augmented request is the requestor, who executes it the receiver; either side can be either." },
  { id: "C-002", level: "IMPLIED", who: "both", text: "The requestor augments and polls; the receiver decides what can be a task and owns its life." },
  { id: "C-003", level: "IMPLIED", who: "both", text: "The feature is experimental and prescribes no user interface." },
  // 2. Capabilities
  { id: "C-004", level: "MUST", who: "both", text: "A side that takes augmented requests declares capabilities.tasks at initialize." },
  { id: "C-005", level: "SHAPE", who: "server", text: "A server declares tasks with list, cancel and requests.tools.call, each an object where supported." },
  { id: "C-006", level: "SHAPE", who: "client", text: "A client declares tasks with list, cancel, requests.sampling.createMessage and requests.elicitation.create." },
  { id: "C-007", level: "SHOULD", who: "requestor", text: "Augments only request types that the receiver declared." },
  { id: "C-008", level: "SHOULD NOT", who: "requestor", text: "Creates any task on a peer without capabilities.tasks." },
  { id: "C-009", level: "IMPLIED", who: "both", text: "tasks.requests is exhaustive: a request type that it does not name takes no tasks." },
  { id: "C-010", level: "IMPLIED", who: "both", text: "tasks/list exists where tasks.list is declared; elsewhere it is -32601." },
  { id: "C-011", level: "IMPLIED", who: "both", text: "tasks/cancel exists where tasks.cancel is declared; elsewhere it is -32601." },
  { id: "C-012", level: "IMPLIED", who: "both", text: "tasks/get and tasks/result have no flag of their own: they come with tasks." },
  // 3. Each tool's say
  { id: "C-013", level: "SHAPE", who: "server", text: "A tool has execution.taskSupport: forbidden, optional or required; absent means forbidden." },
  { id: "C-014", level: "MUST NOT", who: "client", text: "Augments a tool call where the server lacks tasks.requests.tools.call, whatever the tool says." },
  { id: "C-015", level: "MUST NOT", who: "client", text: "Augments a call of a tool whose taskSupport is absent or forbidden." },
  { id: "C-016", level: "SHOULD", who: "server", text: "Answers an augmented call of a forbidden tool with -32601." },
  { id: "C-017", level: "MAY", who: "client", text: "Calls a tool with taskSupport optional either way." },
  { id: "C-018", level: "MUST", who: "client", text: "Calls a tool with taskSupport required only as a task." },
  { id: "C-019", level: "MUST", who: "server", text: "Answers a plain call of a required tool with -32601." },
  // 4. Creating
  { id: "C-020", level: "SHAPE", who: "requestor", text: "params.task is an object with at most ttl, milliseconds from creation; null is no ttl here." },
  { id: "C-021", level: "MAY", who: "requestor", text: "Names the ttl that it wants." },
  { id: "C-022", level: "MUST", who: "receiver", text: "Answers an accepted augmented request with the task, never with the result, even if it is already there." },
  { id: "C-023", level: "SHOULD", who: "receiver", text: "Gives that answer as soon as it can." },
  { id: "C-024", level: "SHAPE", who: "receiver", text: "CreateTaskResult holds the task as its member task, not flat." },
  { id: "C-025", level: "IMPLIED", who: "receiver", text: "CreateTaskResult has nothing of the operation's result." },
  { id: "C-026", level: "MAY", who: "server", text: "Puts a text for the model into _meta of CreateTaskResult, for the host to hand on at once." },
  { id: "C-027", level: "IMPLIED", who: "client", text: "Without such a text the host may use one of its own." },
  { id: "C-028", level: "MUST", who: "receiver", text: "Without the capability for that request type, ignores params.task and answers as usual." },
  { id: "C-029", level: "MAY", who: "receiver", text: "With the capability, may refuse requests of that type that ask for no task." },
  // 5. The task object
  { id: "C-030", level: "SHAPE", who: "receiver", text: "taskId is a string and always there." },
  { id: "C-031", level: "SHAPE", who: "receiver", text: "status is working, input_required, completed, failed or cancelled." },
  { id: "C-032", level: "SHAPE", who: "receiver", text: "statusMessage is an optional string, in any status." },
  { id: "C-033", level: "SHAPE", who: "receiver", text: "createdAt is an ISO 8601 time and always there." },
  { id: "C-034", level: "SHAPE", who: "receiver", text: "lastUpdatedAt is an ISO 8601 time and always there." },
  { id: "C-035", level: "SHAPE", who: "receiver", text: "ttl is the effective one, in milliseconds from creation; null is without end." },
  { id: "C-036", level: "SHAPE", who: "receiver", text: "pollInterval is an optional number of milliseconds." },
  { id: "C-037", level: "MUST", who: "receiver", text: "createdAt is in every message that shows a task." },
  { id: "C-038", level: "MUST", who: "receiver", text: "lastUpdatedAt is in every message that shows a task." },
  // 6. Ids
  { id: "C-039", level: "MUST", who: "receiver", text: "Task ids are strings." },
  { id: "C-040", level: "MUST", who: "receiver", text: "Makes up the id itself; one that the requestor sends is not used." },
  { id: "C-041", level: "MUST", who: "receiver", text: "No two of its tasks share an id." },
  // 7. Life
  { id: "C-042", level: "MUST", who: "receiver", text: "Every task starts as working." },
  { id: "C-043", level: "MUST", who: "receiver", text: "From working a task goes to input_required or to one of the three ends." },
  { id: "C-044", level: "MUST", who: "receiver", text: "From input_required a task goes back to working or to one of the three ends." },
  { id: "C-045", level: "MUST NOT", who: "receiver", text: "Moves a task out of completed, failed or cancelled." },
];
