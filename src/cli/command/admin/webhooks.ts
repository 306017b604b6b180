import type { WebhookBacklog } from "../../../admin/admin.ts";
import type { Context } from "../../context.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import { fittedTable, type Column } from "../../output/fitted-table.ts";
import type { WebhooksJson } from "../../output/json-shapes.ts";
import { timeText } from "../../output/times.ts";
import { withAdmin, type AdminOptions } from "./with-admin.ts";

const columns: readonly Column[] = [
  { title: "WEBHOOK", least: 8 },
  { title: "WAITING", least: 7, isNumber: true },
  { title: "GIVEN UP", least: 8, isNumber: true },
  { title: "LAST FAILURE", least: 12 },
];

/** `holdfast admin STORE webhooks`: lists webhooks with undelivered messages. */
export async function webhooks(context: Context, { place }: { readonly place: string }): Promise<ExitCode> {
  const { output } = context;
  return withAdmin(context, { place, options: {} }, async ({ admin }) => {
    const waiting = await admin.webhooks();
    if (output.json) await output.printJson({ webhooks: waiting } satisfies WebhooksJson);
    else await output.print(fittedTable(columns, waiting.map(rowOf), output.columns));
    return exitCodes.done;
  });
}

function rowOf({ webhook, waiting, givenUp, lastFailure }: WebhookBacklog): string[] {
  const failure = lastFailure === null ? "" : `${timeText(lastFailure.at)} ${lastFailure.problem}`;
  return [webhook, String(waiting), String(givenUp), failure];
}

/** `holdfast admin STORE resend WEBHOOK` */
export async function resend(
  context: Context,
  {
    place,
    webhook,
    options,
  }: { readonly place: string; readonly webhook: string; readonly options: AdminOptions },
): Promise<ExitCode> {
  const { output } = context;
  return withAdmin(context, { place, options }, async ({ acts }) => {
    const { resent } = await acts().resend(webhook);
    if (output.json) await output.printJson({ webhook, resent });
    else await output.print(`${resent} ${resent === 1 ? "message" : "messages"} of ${webhook} sent again\n`);
    return exitCodes.done;
  });
}
