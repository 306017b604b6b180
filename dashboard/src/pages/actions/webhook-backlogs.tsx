import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { WebhookBacklog } from "../../../../src/admin/webhook-shapes.ts";
import { useServices } from "../../api/services.ts";
import { may } from "../../api/session.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { useNow } from "../../live/use-now.ts";
import { attempt } from "../../parts/notices.tsx";
import { Problem } from "../../parts/problem.tsx";
import { Ago } from "../../parts/time.tsx";

const everyMs = 10_000;

/** The undelivered messages of webhooks, and a way to resend them. */
export function WebhookBacklogs({ onChange }: { readonly onChange: () => void }): JSX.Element {
  const { admin, session } = useServices();
  const now = useNow();
  const { value, error, reload } = useLoaded("webhooks", () => admin.webhooks(), { restMs: 3_000, everyMs });
  const done = (): void => {
    reload();
    onChange();
  };
  return (
    <section class="above" aria-labelledby="webhooks">
      <h2 id="webhooks">Webhooks</h2>
      {error !== undefined && <Problem error={error} reload={reload} />}
      {value?.length === 0 && <p class="faint">No messages are waiting to be delivered.</p>}
      {value !== undefined && value.length > 0 && (
        <div class="scroll" role="group" aria-label="Webhooks" tabIndex={0}>
          <table>
            <caption class="hidden">Messages not delivered yet</caption>
            <thead>
              <tr>
                <th scope="col">Webhook</th>
                <th scope="col" class="number">
                  Waiting
                </th>
                <th scope="col">Oldest</th>
                <th scope="col" class="number">
                  Given up
                </th>
                <th scope="col">Last failure</th>
                {may(session, "act") && <th scope="col">Resend</th>}
              </tr>
            </thead>
            <tbody>
              {value.map((backlog) => (
                <tr key={backlog.webhook}>
                  <th scope="row">{backlog.webhook}</th>
                  <td class="number">{countText(backlog.waiting)}</td>
                  <td>{backlog.oldestAt === null ? "–" : <Ago at={backlog.oldestAt} now={now} />}</td>
                  <td class="number">
                    <span class={backlog.givenUp > 0 ? "error" : ""}>{countText(backlog.givenUp)}</span>
                  </td>
                  <td class="message">
                    {backlog.lastFailure === null ? (
                      <span class="faint">none</span>
                    ) : (
                      <>
                        {backlog.lastFailure.problem}, <Ago at={backlog.lastFailure.at} now={now} />
                      </>
                    )}
                  </td>
                  {may(session, "act") && (
                    <td>
                      <Resend backlog={backlog} onDone={done} />
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** Counts end here. */
const most = 10_000;

function countText(count: number): string {
  return `${count.toLocaleString()}${count >= most ? "+" : ""}`;
}

function Resend({
  backlog: { webhook, waiting, givenUp },
  onDone,
}: {
  readonly backlog: WebhookBacklog;
  readonly onDone: () => void;
}): JSX.Element {
  const { admin, session } = useServices();
  const [isBusy, setBusy] = useState(false);
  const resend = async (): Promise<void> => {
    setBusy(true);
    await attempt(
      () => admin.as(session.actor).resend(webhook, { waiting: true }),
      ({ resent }) =>
        `${resent.toLocaleString()} ${resent === 1 ? "message" : "messages"} will be resent to ${webhook} within a minute.`,
    );
    setBusy(false);
    onDone();
  };
  return (
    <button
      type="button"
      class="quiet"
      disabled={isBusy || givenUp + waiting === 0}
      aria-label={`Resend the messages to ${webhook} that have not been delivered`}
      onClick={() => void resend()}
    >
      Resend
    </button>
  );
}
