import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { OpenQuestion, TaskDetails } from "../../../../../src/admin/admin.ts";
import { useServices } from "../../../api/services.ts";
import { may } from "../../../api/session.ts";
import { Json } from "../../../parts/json.tsx";
import { notify } from "../../../parts/notices.tsx";
import { Section } from "../../../parts/section.tsx";
import { OuterLink } from "../../../routing/outer-link.tsx";
import type { Answering } from "./answering.ts";
import { ElicitationForm } from "./elicitation-form.tsx";
import { JsonAnswer } from "./json-answer.tsx";

interface QuestionsProps {
  readonly task: TaskDetails;
  readonly onAnswered: () => void;
}

/** The task's questions, with a form for users who may answer. Typed values stay even if the question was answered elsewhere. */
export function Questions({ task, onAnswered }: QuestionsProps): JSX.Element | null {
  const { admin, session } = useServices();
  const typedIn = useRef(new Map<string, OpenQuestion>());
  const [, redraw] = useState(0);
  const forget = (key: string): void => {
    typedIn.current.delete(key);
    redraw((count) => count + 1);
  };
  const open = new Set(task.questions.map(({ key }) => key));
  const closed = [...typedIn.current.values()].filter(({ key }) => !open.has(key));
  const shown = [...task.questions, ...closed];
  if (shown.length === 0) return null;
  return (
    <Section title={shown.length === 1 ? "Question" : "Questions"}>
      {shown.map((question) => {
        const { key } = question;
        const answer = async (result: unknown): Promise<void> => {
          await admin.as(session.actor).answer(task.id, { [key]: result });
          forget(key);
          notify(`Answered ${key}.`);
          onAnswered();
        };
        return (
          <article key={key} class="question" aria-label={`Question ${key}`}>
            {!open.has(key) && (
              <p class="notice problem" role="alert">
                This question is closed. It was answered elsewhere or withdrawn.
                <button type="button" class="quiet" onClick={() => forget(key)}>
                  Close the form
                </button>
              </p>
            )}
            <Question
              question={question}
              answer={may(session, "act") ? answer : undefined}
              onTyped={() => typedIn.current.set(key, question)}
            />
          </article>
        );
      })}
    </Section>
  );
}

interface QuestionProps {
  readonly question: OpenQuestion;
  /** Undefined for read-only users. */
  readonly answer: Answering["answer"] | undefined;
  readonly onTyped: () => void;
}

function Question({ question, answer, onTyped }: QuestionProps): JSX.Element {
  const { key, method } = question;
  const params = isObject(question.params) ? question.params : {};
  const { message, mode, url, requestedSchema } = params;
  const isForm = method === "elicitation/create" && mode !== "url";
  return (
    <>
      <h3>
        <code>{key}</code>
      </h3>
      {typeof message === "string" && <p class="message">{message}</p>}
      {method === "elicitation/create" && typeof url === "string" && (
        <p>
          The task asks the user to open <OuterLink url={url} />
        </p>
      )}
      {method !== "elicitation/create" && (
        <>
          <p class="faint">
            {method === "roots/list"
              ? "The task asks for the client’s folders (roots)."
              : "The task asks for a model’s response (sampling)."}
          </p>
          <Json value={question.params} label={`Parameters of ${key}`} />
        </>
      )}
      {answer === undefined && isForm && <Json value={requestedSchema} label={`Schema of ${key}`} />}
      {answer !== undefined &&
        (method === "elicitation/create" ? (
          <ElicitationForm
            name={key}
            schema={isForm ? (requestedSchema ?? {}) : {}}
            hasContent={isForm}
            answer={answer}
            onTyped={onTyped}
          />
        ) : (
          <JsonAnswer name={key} method={method} answer={answer} onTyped={onTyped} />
        ))}
    </>
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
