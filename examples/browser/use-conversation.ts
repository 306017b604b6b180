import type { ConversationEvent, HostQuestion, OpenCall } from "holdfast/host";
import { useEffect, useReducer } from "react";

/** What a page shows of a conversation. */
export interface ConversationView {
  readonly calls: readonly OpenCall[];
  readonly questions: readonly HostQuestion[];
  /** The last lines of the logs. */
  readonly log: readonly string[];
}

const nothing: ConversationView = { calls: [], questions: [], log: [] };

/**
 * What happens in a conversation, from the address of its events (`events.ts`). They begin with all calls that are open, so that a page that is loaded
 * again shows these too.
 */
export function useConversation(url: string): ConversationView {
  const [view, dispatch] = useReducer(viewAfter, nothing);
  useEffect(() => {
    const source = new EventSource(url);
    source.onopen = () => dispatch("opened");
    source.onmessage = ({ data }) => dispatch(JSON.parse(String(data)) as ConversationEvent);
    return () => source.close();
  }, [url]);
  return view;
}

function viewAfter(view: ConversationView, event: ConversationEvent | "opened"): ConversationView {
  if (event === "opened") return nothing;
  if (event.type === "asks") return { ...view, questions: [...view.questions, event.question] };
  const { call } = event;
  const others = view.calls.filter(({ id }) => id !== call.id);
  const questions =
    call.state === "asking" ? view.questions : view.questions.filter((question) => question.call !== call.id);
  const log = event.type === "log" ? [...view.log, event.line.text].slice(-20) : view.log;
  return { calls: [...others, call], questions, log };
}
