import type { JSX } from "preact";
import type { TaskDetails } from "../../../../src/admin/admin.ts";
import { Section } from "../../parts/section.tsx";
import { Time } from "../../parts/time.tsx";

/** The errors of attempts, and where they were thrown, newest first. */
export function ErrorList({
  task: { attempts, error: last },
}: {
  readonly task: TaskDetails;
}): JSX.Element | null {
  const failed = attempts
    .filter(({ error, stack }) => error !== undefined || stack !== undefined)
    .toReversed();
  if (failed.length === 0) return null;
  return (
    <Section title="Errors">
      <ul class="errors">
        {failed.map(({ number, startedAt, endedAt, error, stack }) => (
          <li key={number}>
            <p>
              Attempt {number}, <Time at={endedAt ?? startedAt} />: <span class="error">{error ?? last}</span>
            </p>
            {stack !== undefined && (
              <details>
                <summary>Stack of attempt {number}</summary>
                <pre class="json" tabIndex={0} aria-label={`Stack of attempt ${number}`}>
                  {stack}
                </pre>
              </details>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
