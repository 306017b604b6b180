import type { TaskCommand, TaskCommandName, TaskCommands } from "../../task/command.ts";
import type { TaskChanges } from "../../task/record.ts";
import { body, clear, each, members, words, type Members, type Texts } from "./form.ts";
import {
  inputAnswer,
  inputRequest,
  journalEntry,
  line,
  newTask,
  outcome,
  progress,
  request,
} from "./task-forms.ts";

const changes = members<TaskChanges>({
  statusMessage: words,
  pollIntervalMs: clear,
  expiry: clear,
  progress,
  waiting: clear,
});

/** Which texts of each command are encrypted. A command or member that is missing here does not compile. */
const commandForms: { readonly [N in TaskCommandName]: Members<TaskCommands[N]> } = {
  create: {
    task: newTask,
    request,
    token: clear,
    version: clear,
    forAnyOwner: clear,
    awaited: clear,
    promised: clear,
    quota: clear,
    journal: each(journalEntry),
    formerHash: clear,
  },
  start: { id: clear, token: clear, limited: clear, version: clear },
  claim: { handlers: clear, tokens: clear, turns: clear },
  release: { id: clear, token: clear, until: clear },
  retry: { id: clear, token: clear, until: clear, statusMessage: words, stack: words },
  park: { id: clear, token: clear },
  wake: { limit: clear },
  mark: { id: clear, token: clear, rest: clear },
  record_step: {
    id: clear,
    token: clear,
    key: clear,
    value: body,
    error: body,
    begunAt: clear,
    beforeHandler: clear,
  },
  retry_step: {
    id: clear,
    token: clear,
    key: clear,
    error: body,
    tries: clear,
    until: clear,
    begunAt: clear,
    rest: clear,
  },
  open_input: {
    id: clear,
    token: clear,
    input: inputRequest,
    requestHash: clear,
    deadlineAt: clear,
    rest: clear,
  },
  close_wait: { id: clear, token: clear, key: clear, error: body },
  sleep: { id: clear, token: clear, key: clear, until: clear, rest: clear },
  end_sleep: { id: clear, token: clear, key: clear },
  call_tool: {
    id: clear,
    token: clear,
    key: clear,
    requestHash: clear,
    child: newTask,
    request,
    cancelGraceMs: clear,
    rest: clear,
  },
  wait_event: {
    id: clear,
    token: clear,
    key: clear,
    name: clear,
    requestHash: clear,
    deadlineAt: clear,
    rest: clear,
  },
  send_event: { id: clear, name: clear, value: body, dedupeId: clear, limit: clear },
  answer_inputs: { id: clear, answers: each(inputAnswer) },
  update: { id: clear, token: clear, changes },
  append: { id: clear, token: clear, lines: each(line), forget: clear },
  settle: { id: clear, token: clear, outcome, statusMessage: words, stack: words },
  fail: { id: clear, outcome, statusMessage: words, orphaned: clear },
  expire: { id: clear, outcome, statusMessage: words, visibleUntil: clear },
  request_cancel: { id: clear, cancelBy: clear },
  join: { id: clear, alone: clear, key: clear },
  leave: { id: clear, stays: clear, promised: clear, cancelBy: clear },
  cancel: { id: clear, statusMessage: words, scheduled: clear, unlessWanted: clear },
  reclaim: { owner: clear, after: clear, limit: clear, backoff: clear },
  release_key: { id: clear, deleteBy: clear },
  extend: { id: clear, until: clear },
  pause_tool: { tool: clear, actor: clear },
  resume_tool: { tool: clear },
  delete: { id: clear },
  // Kept separately, under one name for each key.
  keep_secret: { name: clear, value: clear },
  delete_expired: { limit: clear },
  // Webhook deliveries contain nothing encrypted.
  claim_deliveries: { hook: clear, limit: clear, until: clear },
  end_delivery: { seq: clear, tries: clear },
  retry_delivery: { seq: clear, tries: clear, at: clear, problem: clear },
  resend_deliveries: { hook: clear, limit: clear },
  trim_deliveries: { most: clear, before: clear, limit: clear },
};

const forms = new Map(
  Object.entries(commandForms).map(([name, form]) => [name, members(form as Members<object>)]),
);

/** A command as the inner store gets it. */
export function sealedCommand<N extends TaskCommandName>(
  command: TaskCommand<N>,
  sealing: Texts,
): TaskCommand<N> {
  const form = forms.get(command.type);
  if (form === undefined) throw new TypeError(`The command ${command.type} has no encrypted form.`);
  // The form of a command only changes its texts.
  return form(command, sealing) as TaskCommand<N>;
}
