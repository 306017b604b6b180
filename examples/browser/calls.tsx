import type { HostQuestion } from "holdfast/host";
import { useConversation } from "./use-conversation.ts";

/** The calls of a conversation, and the questions of their servers. */
export function Calls({ url }: { readonly url: string }) {
  const { calls, questions, log } = useConversation(url);
  const answer = (question: HostQuestion, action: "accept" | "decline"): void => {
    const { call, key } = question;
    void fetch(url, { method: "POST", body: JSON.stringify({ call, key, result: { action, content: {} } }) });
  };
  return (
    <section>
      <ul>
        {calls.map(({ id, tool, state, statusMessage, progress }) => (
          <li key={id}>
            {tool}: {statusMessage ?? state}
            {progress !== undefined && <progress value={progress.progress} max={progress.total} />}
          </li>
        ))}
      </ul>
      {questions.map((question) => (
        <p key={question.key}>
          {question.tool} asks: {String(question.params["message"])}
          <button onClick={() => answer(question, "accept")}>Yes</button>
          <button onClick={() => answer(question, "decline")}>No</button>
        </p>
      ))}
      <pre>{log.join("\n")}</pre>
    </section>
  );
}
