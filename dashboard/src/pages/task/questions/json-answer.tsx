import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { OpenQuestion } from "../../../../../src/admin/admin.ts";
import { useAct } from "../../../live/use-act.ts";
import { Problem } from "../../../parts/problem.tsx";
import type { Answering } from "./answering.ts";
import { readJson } from "./form-content.ts";

const examples: Readonly<Partial<Record<OpenQuestion["method"], unknown>>> = {
  "sampling/createMessage": {
    role: "assistant",
    content: { type: "text", text: "…" },
    model: "an operator",
    stopReason: "endTurn",
  },
  "roots/list": { roots: [{ uri: "file:///srv/data", name: "data" }] },
};

interface JsonAnswerProps extends Answering {
  readonly method: OpenQuestion["method"];
}

/** An answer as the result that a client would send; initially an example. */
export function JsonAnswer({ name, method, answer, onTyped }: JsonAnswerProps): JSX.Element {
  const [text, setText] = useState(() => JSON.stringify(examples[method] ?? {}, null, 2));
  const { isBusy, error, run } = useAct();
  const id = useId();
  const send = async (): Promise<void> => {
    const read = readJson(text);
    if ("problem" in read) throw new Error(read.problem);
    await answer(read.value);
  };
  return (
    <form
      noValidate
      aria-label={`Answer ${name}`}
      onSubmit={(event) => {
        event.preventDefault();
        void run(send);
      }}
    >
      <div class="field">
        <label for={id}>Result, as JSON</label>
        <textarea
          id={id}
          class="code"
          rows={9}
          value={text}
          onInput={({ currentTarget }) => {
            onTyped();
            setText(currentTarget.value);
          }}
        />
      </div>
      {error !== undefined && <Problem error={error} />}
      <div class="buttons">
        <button type="submit" disabled={isBusy}>
          Send answer
        </button>
      </div>
    </form>
  );
}
