import type { Requirement } from "./requirement.ts";

/** What the original proposal (SEP-1686) asks of tasks: who has them, how one starts, what it shows, where it goes. */
// One requirement per line, as in a table.
// prettier-ignore
export const sepCreation: readonly Requirement[] = [
  // 1. Roles, model, capabilities
  { id: "S-001", level: "IMPLIED", who: "requestor", text: "The requestor decides for each request whether to ask for a task; the receiver decides for which request types it heeds that." },
  { id: "S-002", level: "IMPLIED", who: "both", text: "Any request can ask for a task, in either direction: tools/call, resources/read, prompts/get, sampling/createMessage, elicitation/create." },
  { id: "S-003", level: "MUST", who: "both", text: "Who takes such requests declares capabilities.tasks at initialize, by category, with a boolean for each request type." },
  { id: "S-004", level: "IMPLIED", who: "both", text: "No capability is needed: no created notification, or an error to tasks/get, says that tasks are not supported (A-01)." },
  { id: "S-005", level: "IMPLIED", who: "receiver", text: "Requests answer the same with and without task metadata, and no version is negotiated for it." },
  // 2. Creating
  { id: "S-006", level: "SHAPE", who: "requestor", text: "A request asks by _meta[\"modelcontextprotocol.io/task\"]: taskId, and keepAlive where it wants one." },
  { id: "S-007", level: "SHAPE", who: "requestor", text: "The taskId is required, and the requestor chooses it." },
  { id: "S-008", level: "MAY", who: "requestor", text: "keepAlive says for how many milliseconds results are to stay after the task's end." },
  { id: "S-009", level: "MUST", who: "receiver", text: "Who has no tasks for a request runs it normally and ignores the metadata." },
  { id: "S-010", level: "MAY", who: "receiver", text: "The receiver chooses which request types can be tasks." },
  { id: "S-011", level: "MUST", who: "receiver", text: "Creating a task sends notifications/tasks/created." },
  { id: "S-012", level: "SHAPE", who: "receiver", text: "The created notification has related-task in _meta of its params, and nothing else." },
  { id: "S-013", level: "IMPLIED", who: "receiver", text: "The created notification comes right after creation; when it arrives, tasks/get finds the task." },
  { id: "S-014", level: "IMPLIED", who: "receiver", text: "There is no created notification for a request that became no task." },
  { id: "S-015", level: "IMPLIED", who: "receiver", text: "The original request gets its normal response in the end." },
  { id: "S-016", level: "IMPLIED", who: "requestor", text: "Waits for the response, and for the created notification and polls, at once, and takes what ends first." },
  { id: "S-017", level: "IMPLIED", who: "requestor", text: "Does not poll before the created notification." },
  { id: "S-018", level: "MAY", who: "requestor", text: "Polls all the same, with exponential backoff, where no notification can arrive." },
  { id: "S-019", level: "IMPLIED", who: "requestor", text: "Falls back to the response where the created notification is lost." },
  // 3. Ids
  { id: "S-020", level: "MUST", who: "both", text: "A task id is a string." },
  { id: "S-021", level: "SHOULD", who: "requestor", text: "Ids are unique over all tasks of the receiver." },
  { id: "S-022", level: "MAY", who: "receiver", text: "The receiver can refuse an id that is in use." },
  { id: "S-023", level: "IMPLIED", who: "requestor", text: "A request whose answer was lost is repeated under the same id; a duplicate then means that the task exists, and polls go on." },
  { id: "S-024", level: "IMPLIED", who: "receiver", text: "A front of another job system keeps which job a task is for at least the keepAlive." },
  // 4. Statuses
  { id: "S-025", level: "SHAPE", who: "receiver", text: "The statuses are submitted, working, input_required, completed, failed, cancelled and unknown." },
  { id: "S-026", level: "MUST", who: "receiver", text: "A new task is submitted." },
  { id: "S-027", level: "MUST", who: "receiver", text: "A submitted task goes to working, input_required, completed, failed, cancelled or unknown." },
  { id: "S-028", level: "MUST", who: "receiver", text: "A working task goes to input_required, completed, failed, cancelled or unknown, never back to submitted." },
  { id: "S-029", level: "MUST", who: "receiver", text: "A task that is input_required goes to working, completed, failed, cancelled or unknown." },
  { id: "S-030", level: "MUST NOT", who: "receiver", text: "A completed, failed, cancelled or unknown task changes its status." },
  { id: "S-031", level: "MAY", who: "receiver", text: "A task whose work is over at once goes from submitted to completed." },
  { id: "S-032", level: "SHOULD", who: "receiver", text: "A failure is failed, with an error text; unknown is for what cannot be determined." },
  { id: "S-033", level: "IMPLIED", who: "receiver", text: "failed means that the task itself went wrong, and not what the request answers (A-04)." },
  // 5. tasks/get
  { id: "S-034", level: "SHAPE", who: "requestor", text: "tasks/get has taskId in its params, and related-task in _meta." },
  { id: "S-035", level: "SHAPE", who: "receiver", text: "Its result has taskId, status, keepAlive, pollFrequency and error at the top level, and related-task in _meta." },
  { id: "S-036", level: "MUST", who: "receiver", text: "keepAlive is always there and is the one in effect; null is without end." },
  { id: "S-037", level: "MAY", who: "receiver", text: "pollFrequency says in milliseconds how long to wait between two polls." },
  { id: "S-038", level: "SHOULD", who: "requestor", text: "Waits as long as pollFrequency says." },
  // 6. tasks/result
  { id: "S-039", level: "SHAPE", who: "requestor", text: "tasks/result has taskId in its params, and related-task in _meta." },
  { id: "S-040", level: "SHAPE", who: "receiver", text: "Its result is that of the original request, with related-task in _meta." },
  { id: "S-041", level: "MUST", who: "receiver", text: "It gives results of completed tasks alone." },
  { id: "S-042", level: "MUST", who: "receiver", text: "In any other status it is -32602 at once, and never waits." },
  { id: "S-043", level: "MAY", who: "requestor", text: "Fetches a result as often as it wants while the task exists." },
  // 7. tasks/list
  { id: "S-044", level: "SHAPE", who: "requestor", text: "tasks/list has at most a cursor in its params." },
  { id: "S-045", level: "SHAPE", who: "receiver", text: "Its result has tasks, each with taskId, status, keepAlive, pollFrequency and error, and nextCursor on all but the last page." },
  { id: "S-046", level: "SHOULD", who: "receiver", text: "Lists come in pages." },
  { id: "S-047", level: "MUST", who: "receiver", text: "nextCursor is there wherever there are more tasks." },
  { id: "S-048", level: "MUST", who: "requestor", text: "Sends cursors back as they came." },
];
