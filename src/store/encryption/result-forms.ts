import type { CommandResult, TaskCommandName } from "../../task/command.ts";
import { clear, each, members, type Form, type Texts } from "./form.ts";
import { record } from "./task-forms.ts";

type Done<N extends TaskCommandName> = Extract<CommandResult<N>, { readonly ok: true }>;

const done = members<{ readonly ok: true }>({ ok: clear });
const changed = members<Done<"start">>({ ok: clear, task: record });

/** Which texts of each result are encrypted. */
const resultForms: { readonly [N in TaskCommandName]: Form<Done<N>> } = {
  create: members<Done<"create">>({ ok: clear, task: record, created: clear }),
  start: changed,
  claim: members<Done<"claim">>({
    ok: clear,
    tasks: each(record),
    unreadable: clear,
    turns: clear,
    heldBack: clear,
  }),
  release: changed,
  retry: changed,
  park: changed,
  wake: members<Done<"wake">>({ ok: clear, woken: clear, unreadable: clear }),
  mark: changed,
  record_step: changed,
  retry_step: changed,
  open_input: changed,
  close_wait: changed,
  sleep: changed,
  end_sleep: changed,
  call_tool: changed,
  wait_event: changed,
  send_event: members<Done<"send_event">>({ ok: clear, task: record, isNew: clear, ended: clear }),
  answer_inputs: members<Done<"answer_inputs">>({ ok: clear, task: record, accepted: clear }),
  update: changed,
  append: changed,
  settle: changed,
  fail: changed,
  expire: changed,
  request_cancel: changed,
  join: changed,
  leave: changed,
  cancel: members<Done<"cancel">>({ ok: clear, task: record, released: clear }),
  reclaim: members<Done<"reclaim">>({ ok: clear, reclaimed: clear, unreadable: clear, next: clear }),
  release_key: done,
  extend: changed,
  pause_tool: done,
  resume_tool: done,
  delete: done,
  keep_secret: members<Done<"keep_secret">>({ ok: clear, value: clear }),
  delete_expired: members<Done<"delete_expired">>({ ok: clear, deleted: clear }),
  claim_deliveries: members<Done<"claim_deliveries">>({ ok: clear, deliveries: clear }),
  end_delivery: done,
  retry_delivery: done,
  resend_deliveries: members<Done<"resend_deliveries">>({ ok: clear, resent: clear }),
  trim_deliveries: members<Done<"trim_deliveries">>({ ok: clear, dropped: clear }),
};

/** The inner store's result of a command, as its caller gets it. */
export function openedResult<N extends TaskCommandName>(
  type: N,
  result: CommandResult<N>,
  opening: Texts,
): CommandResult<N> {
  if (!result.ok) return result;
  // Only the results of a command that are ok have texts.
  const form = resultForms[type] as unknown as Form<CommandResult<N>>;
  return form(result, opening);
}
