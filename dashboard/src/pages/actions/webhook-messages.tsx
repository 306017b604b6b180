import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { DeliveryQuery, TaskDelivery, WebhookBacklog } from "../../../../src/admin/task-parts.ts";
import { useServices } from "../../api/services.ts";
import { may } from "../../api/session.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { useNow } from "../../live/use-now.ts";
import { LoadedTable } from "../../parts/loaded-table.tsx";
import { attempt } from "../../parts/notices.tsx";
import { Ago, Until } from "../../parts/time.tsx";
import { Link } from "../../routing/link.tsx";
import { taskPath } from "../../routing/task-path.ts";

const often = { restMs: 3_000, everyMs: 10_000 };

/** What webhooks have not accepted yet: how much, which messages, and a way to send all or some of them again. */
export function WebhookMessages({ onChange }: { readonly onChange: () => void }): JSX.Element {
  const { admin, session } = useServices();
  const now = useNow();
  const load = useLoaded("webhooks", () => admin.webhooks(), often);
  const [sent, setSent] = useState(0);
  const done = (): void => {
    load.reload();
    setSent((times) => times + 1);
    onChange();
  };
  return (
    <>
      <LoadedTable<WebhookBacklog>
        title="Webhooks"
        note="Messages that webhooks have not accepted yet."
        loaded={load}
        rows={load.value}
        keyOf={({ webhook }) => webhook}
        empty="No messages are waiting to be delivered."
        columns={[
          { title: "Webhook", class: "name", isHeader: true, cell: ({ webhook }) => webhook },
          { title: "Waiting", isNumber: true, cell: ({ waiting }) => countText(waiting) },
          {
            title: "Oldest",
            class: "minor",
            cell: ({ oldestAt }) => (oldestAt === null ? "–" : <Ago at={oldestAt} now={now} />),
          },
          {
            title: "Given up",
            isNumber: true,
            cell: ({ givenUp }) => <span class={givenUp > 0 ? "error" : ""}>{countText(givenUp)}</span>,
          },
          {
            title: "Last failure",
            class: "message",
            cell: ({ lastFailure: last }) =>
              last === null ? (
                <span class="faint">none</span>
              ) : (
                <>
                  {last.problem}, <Ago at={last.at} now={now} />
                </>
              ),
          },
          ...(may(session, "act") ? [{ title: "Resend", cell: all } as const] : []),
        ]}
      />
      {load.value !== undefined && load.value.length > 0 && (
        <Messages webhooks={load.value.map(({ webhook }) => webhook)} sent={sent} onDone={done} />
      )}
    </>
  );

  function all({ webhook, waiting, givenUp }: WebhookBacklog): JSX.Element {
    return (
      <Resend
        webhook={webhook}
        options={{ waiting: true }}
        label={`Resend the messages to ${webhook} that have not been delivered`}
        isNone={givenUp + waiting === 0}
        onDone={done}
      />
    );
  }
}

/** Counts end here. */
const most = 10_000;

function countText(count: number): string {
  return `${count.toLocaleString()}${count >= most ? "+" : ""}`;
}

const kinds: readonly (readonly [text: string, query: DeliveryQuery])[] = [
  ["Failed", { failed: true }],
  ["Given up", { state: "given_up" }],
  ["All", {}],
];

const pageSize = 50;

interface MessagesProps {
  readonly webhooks: readonly string[];
  /** Changes when messages were sent again. */
  readonly sent: number;
  readonly onDone: () => void;
}

function Messages({ webhooks, sent, onDone }: MessagesProps): JSX.Element {
  const { admin, session } = useServices();
  const now = useNow();
  const [kind, setKind] = useState("Failed");
  const [webhook, setWebhook] = useState("");
  const [after, setAfter] = useState<number | null>(null);
  const query: DeliveryQuery = {
    ...kinds.find(([text]) => text === kind)?.[1],
    ...(webhook !== "" && { webhook }),
    ...(after !== null && { after }),
    limit: pageSize,
  };
  const load = useLoaded(JSON.stringify(query), () => admin.deliveries(query), often);
  const { reload } = load;
  useEffect(() => {
    if (sent > 0) reload();
  }, [sent, reload]);
  const next = load.value?.next ?? null;
  const filter = (
    <div class="periods" role="group" aria-label="Which messages">
      {kinds.map(([text]) => (
        <button
          key={text}
          type="button"
          class="state"
          aria-pressed={text === kind}
          onClick={() => {
            setKind(text);
            setAfter(null);
          }}
        >
          {text}
        </button>
      ))}
      {webhooks.length > 1 && (
        <select
          aria-label="Webhook"
          value={webhook}
          onChange={(event) => {
            setWebhook(event.currentTarget.value);
            setAfter(null);
          }}
        >
          <option value="">All webhooks</option>
          {webhooks.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
    </div>
  );
  return (
    <>
      <LoadedTable<TaskDelivery>
        title="Undelivered messages"
        aside={filter}
        note="The newest first. A message is given up after three days of tries, and deleted when it is a week old."
        loaded={load}
        rows={load.value?.deliveries}
        keyOf={({ seq }) => String(seq)}
        empty={next === null ? "No such messages." : "None among the newest of them."}
        columns={[
          {
            title: "Task",
            isHeader: true,
            cell: ({ taskId }) => (
              <Link to={taskPath(taskId)} class="task">
                {taskId}
              </Link>
            ),
          },
          { title: "Event", cell: ({ event }) => event.replaceAll("_", " ") },
          { title: "Webhook", class: "name", cell: (row) => row.webhook },
          { title: "Tool", class: "name minor", cell: ({ tool }) => tool },
          { title: "Changed", cell: ({ at }) => <Ago at={at} now={now} /> },
          { title: "Tries", isNumber: true, cell: ({ tries }) => tries.toLocaleString() },
          {
            title: "Next try",
            cell: ({ nextAt }) =>
              nextAt === null ? <span class="error">given up</span> : <Until at={nextAt} now={now} />,
          },
          {
            title: "Last error",
            class: "message",
            cell: ({ problem }) => problem ?? <span class="faint">none</span>,
          },
          ...(may(session, "act") ? [{ title: "Resend", cell: one } as const] : []),
        ]}
      />
      <nav class="pager" aria-label="Pages of undelivered messages">
        {after !== null && (
          <button type="button" class="quiet" onClick={() => setAfter(null)}>
            Newest
          </button>
        )}
        {next !== null && (
          <button type="button" class="quiet" onClick={() => setAfter(next)}>
            Older
          </button>
        )}
      </nav>
    </>
  );

  function one({ webhook: name, seq, taskId }: TaskDelivery): JSX.Element {
    const label = `Resend message ${seq} to ${name}, about task ${taskId}`;
    return (
      <Resend webhook={name} options={{ messages: [seq] }} label={label} isNone={false} onDone={onDone} />
    );
  }
}

interface ResendProps {
  readonly webhook: string;
  readonly options: { readonly waiting: true } | { readonly messages: readonly number[] };
  readonly label: string;
  readonly isNone: boolean;
  readonly onDone: () => void;
}

function Resend({ webhook, options, label, isNone, onDone }: ResendProps): JSX.Element {
  const { admin, session } = useServices();
  const [isBusy, setBusy] = useState(false);
  const resend = async (): Promise<void> => {
    setBusy(true);
    await attempt(
      () => admin.as(session.actor).resend(webhook, options),
      ({ resent }) =>
        resent === 0
          ? `${webhook} has accepted it meanwhile.`
          : `${resent.toLocaleString()} ${resent === 1 ? "message" : "messages"} will be resent to ${webhook} within a minute.`,
    );
    setBusy(false);
    onDone();
  };
  return (
    <button
      type="button"
      class="quiet"
      disabled={isBusy || isNone}
      aria-label={label}
      onClick={() => void resend()}
    >
      Resend
    </button>
  );
}
