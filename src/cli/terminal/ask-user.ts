import type { InputRequest, InputResult, OnInput } from "../../client/question/input-request.ts";
import { askForm } from "./form/ask-form.ts";
import { questionOf } from "./form/question-text.ts";
import { LeftOpen } from "./left-open.ts";
import type { Prompts } from "./prompts.ts";
import { toAnswer } from "./to-answer.ts";

export interface Asking {
  readonly prompts: Prompts;
  /** Who asks, harmless already: "reports, for its tool send_report,". */
  readonly asker: (request: InputRequest) => string;
  /** Whether the server is a process of this command. */
  readonly ownsServer: boolean;
  /** Makes room on the screen for as long as the prompts last. */
  readonly suspend: () => Disposable;
  /** Aborts when the person leaves the command: nothing is asked any more. */
  readonly interrupted: AbortSignal;
  /** Something to say beside the prompts, on one line. */
  readonly note: (line: string) => void;
}

/**
 * Puts questions to the person at the terminal, one after the other in the order in which they came. One that is left
 * open, or that the person interrupted, rejects with `LeftOpen`.
 */
export function askUser(asking: Asking): OnInput {
  let last: Promise<unknown> = Promise.resolve();
  return async (request) => {
    const turn = last.then(async () => ask(request, asking));
    last = turn.catch(() => {});
    const answer = await turn;
    if (answer === undefined) throw new LeftOpen();
    return answer;
  };
}

async function ask(request: InputRequest, asking: Asking): Promise<InputResult | undefined> {
  const { prompts, interrupted } = asking;
  const signal = AbortSignal.any([request.signal, interrupted]);
  if (signal.aborted) return undefined;
  if (request.method !== "elicitation/create") return refuse(request, asking);
  using _room = asking.suspend();
  try {
    const { lines, fields, isForm, obstacle } = questionOf(request.params);
    const hint = fields.length === 0 ? [] : ["", "Escape leads to other ways to answer."];
    await prompts.tell([`${asking.asker(request)} asks:`, ...lines, ...hint].join("\n"));
    const canWait = request.taskId !== null;
    const answer = await askForm(fields, { prompts, obstacle, canWait, signal });
    if (answer.action === "later") {
      // Its server has one client at a time.
      const first = asking.ownsServer ? "End this command by Ctrl-C, and then answer" : "Answer";
      asking.note(`The question stays open. ${first} it with: ${toAnswer(request.taskId ?? "")}`);
      return undefined;
    }
    return answer.action === "accept" && isForm ? answer : { action: answer.action };
  } catch (error) {
    if (interrupted.aborted) return undefined;
    if (request.signal.aborted) asking.note("The question is no longer open.");
    throw error;
  }
}

/** Not declared as capabilities, so that only a server that breaks the protocol asks for them. */
function refuse({ method, taskId }: InputRequest, { note }: Asking): undefined {
  const wanted = method === "sampling/createMessage" ? "a model" : "the roots of a project";
  if (taskId === null) throw new Error(`The server asks for ${wanted}, which a command line does not have`);
  note(
    `The server asks for ${wanted}, which a command line does not have. The question stays open for others.`,
  );
  return undefined;
}
