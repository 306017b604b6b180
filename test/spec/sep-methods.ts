import type { Requirement } from "./requirement.ts";

/** What the original proposal (SEP-1686) asks of tasks, continued: deletes, questions, cancels, ends and care. */
// One requirement per line, as in a table.
// prettier-ignore
export const sepMethods: readonly Requirement[] = [
  { id: "S-049", level: "MUST", who: "receiver", text: "What a requestor can get by tasks/get stands in its tasks/list." },
  // 8. tasks/delete
  { id: "S-050", level: "SHAPE", who: "requestor", text: "tasks/delete has taskId in its params, and related-task in _meta." },
  { id: "S-051", level: "SHAPE", who: "receiver", text: "Its result has related-task in _meta and nothing else." },
  { id: "S-052", level: "MAY", who: "receiver", text: "The receiver can refuse a delete." },
  { id: "S-053", level: "SHOULD", who: "receiver", text: "A delete removes the task, its result and all that is kept of it." },
  { id: "S-054", level: "MAY", who: "receiver", text: "Deletes can be for some statuses only." },
  { id: "S-055", level: "SHOULD", who: "requestor", text: "Deletes tasks with sensitive content promptly." },
  // 9. Questions
  { id: "S-056", level: "MUST", who: "receiver", text: "A task that asks its requestor something is input_required." },
  { id: "S-057", level: "MUST", who: "receiver", text: "Such a request has related-task in _meta." },
  { id: "S-058", level: "MAY", who: "receiver", text: "With all answers the task leaves input_required, normally for working." },
  { id: "S-059", level: "SHOULD", who: "receiver", text: "With answers missing it stays input_required." },
  // 10. related-task
  { id: "S-060", level: "SHAPE", who: "both", text: "related-task stands under modelcontextprotocol.io/related-task and holds taskId." },
  { id: "S-061", level: "MUST", who: "both", text: "Each request, response and notification of a task has it; lists have none (A-20), errors no place for it." },
  { id: "S-062", level: "MUST", who: "receiver", text: "A nested elicitation names the task of the tool call." },
  // 11. Cancels
  { id: "S-063", level: "SHOULD", who: "receiver", text: "notifications/cancelled with the id of the original request makes the task cancelled at once and stops the work." },
  { id: "S-064", level: "MAY", who: "receiver", text: "The work itself may stop later." },
  { id: "S-065", level: "SHOULD", who: "receiver", text: "The work is told to stop at once." },
  { id: "S-066", level: "SHOULD", who: "receiver", text: "A cancel of a task that has ended is ignored." },
  { id: "S-067", level: "MAY", who: "receiver", text: "A cancelled task is deleted after its keepAlive." },
  { id: "S-068", level: "MAY", who: "requestor", text: "Cancels at any time, while the task waits for input too." },
  { id: "S-069", level: "SHOULD", who: "receiver", text: "Answers to questions of a cancelled task are dropped." },
  { id: "S-070", level: "SHOULD", who: "requestor", text: "Polls after a cancel until the task is cancelled." },
  { id: "S-071", level: "MAY", who: "requestor", text: "Takes a cancel for lost after a while." },
  // 12. keepAlive
  { id: "S-072", level: "SHAPE", who: "both", text: "keepAlive counts milliseconds from the end of the task." },
  { id: "S-073", level: "MAY", who: "receiver", text: "The receiver can keep a task longer or shorter than was asked." },
  { id: "S-074", level: "MAY", who: "receiver", text: "A task is deleted with its result when its keepAlive is over." },
  // 13. Errors
  { id: "S-075", level: "SHAPE", who: "receiver", text: "A taskId that is unknown or no string is -32602 in tasks/get, tasks/result and tasks/delete." },
  { id: "S-076", level: "SHAPE", who: "receiver", text: "A bad cursor is -32602." },
  { id: "S-077", level: "SHAPE", who: "receiver", text: "A taskId that is in use is -32602." },
  { id: "S-078", level: "SHAPE", who: "receiver", text: "A result that is asked for before the task is completed is -32602." },
  { id: "S-079", level: "SHAPE", who: "receiver", text: "A fault inside is -32603." },
  { id: "S-080", level: "SHOULD", who: "receiver", text: "Error messages say what went wrong." },
  { id: "S-081", level: "MAY", who: "receiver", text: "A task that was deleted after its time is answered as an unknown one." },
  { id: "S-082", level: "IMPLIED", who: "receiver", text: "A request that fails makes its task failed." },
  { id: "S-083", level: "SHOULD", who: "receiver", text: "A failed task says in error, a plain string, what went wrong." },
  { id: "S-084", level: "IMPLIED", who: "receiver", text: "A tool's result with isError completes the task." },
  // 14. Care
  { id: "S-085", level: "SHOULD", who: "receiver", text: "Tasks belong to the session, where there are sessions and nothing better (A-43)." },
  { id: "S-086", level: "SHOULD", who: "receiver", text: "Tasks belong to the authorization context, where there is one." },
  { id: "S-087", level: "SHOULD", who: "receiver", text: "Others cannot get, list or fetch them." },
  { id: "S-088", level: "SHOULD", who: "receiver", text: "Where nothing of that tells requestors apart, that is documented." },
  { id: "S-089", level: "SHOULD", who: "receiver", text: "Creating, polling, fetching and listing are limited in rate." },
  { id: "S-090", level: "SHOULD", who: "receiver", text: "One requestor has a limited number of tasks at a time." },
  { id: "S-091", level: "SHOULD", who: "receiver", text: "keepAlive has a maximum." },
  { id: "S-092", level: "SHOULD", who: "receiver", text: "Tasks whose time is over are removed promptly." },
  { id: "S-093", level: "SHOULD", who: "receiver", text: "The maximum of keepAlive and the limit on tasks are documented." },
  { id: "S-094", level: "SHOULD", who: "receiver", text: "The use of resources can be watched." },
  { id: "S-095", level: "SHOULD", who: "receiver", text: "Creation, completion and fetches are logged, with the session or authorization context." },
  { id: "S-096", level: "SHOULD", who: "receiver", text: "Suspicious patterns, such as failed lookups and heavy polling, are watched for." },
  { id: "S-097", level: "IMPLIED", who: "requestor", text: "Fetches the result of sensitive work early and asks for a short keepAlive." },
  { id: "S-098", level: "SHOULD", who: "requestor", text: "Logs what becomes of its tasks, and what each is for." },
  // 15. Progress
  { id: "S-099", level: "IMPLIED", who: "receiver", text: "Progress notifications end with the response to the original request." },
  { id: "S-100", level: "IMPLIED", who: "receiver", text: "Progress of a task beyond that, pushes, intermediate results and subtasks are left for later: none of it is sent." },
];

/** What the published text adds. */
// One requirement per line, as in a table.
// prettier-ignore
export const sepPublished: readonly Requirement[] = [
  { id: "S-P-001", level: "SHAPE", who: "both", text: "The published proposal is this text; the core of the protocol took another design." },
  { id: "S-P-002", level: "IMPLIED", who: "both", text: "Neither 2025-11-25 nor 2026-07-28 has submitted, unknown, keepAlive, pollFrequency, tasks/delete or the created notification: this form is one of its own." },
];
