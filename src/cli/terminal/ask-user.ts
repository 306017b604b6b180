import type { InputRequest, InputResult, OnInput } from "../../client/question/input-request.ts";
import { askForm } from "./form/ask-form.ts";
import { questionOf } from "./form/question-text.ts";
import { Unanswered } from "./unanswered.ts";
import type { Prompts } from "./prompts.ts";
import { answerCommand } from "../output/suggested-commands.ts";

export interface PromptContext {
  readonly prompts: Prompts;
  /** Who asks, sanitized: "reports, for its tool send_report,". */
  readonly askerLabel: (request: InputRequest) => string;
  /** Whether the server is a process of this command. */
  readonly ownsServer: boolean;
  /** Hides the live line during the prompts. */
  readonly suspend: () => Disposable;
  /** Aborts when the user interrupts the command. */
  readonly interrupted: AbortSignal;
  /** Prints a line outside the prompts. */
  readonly note: (line: string) => void;
}

/**
 * Asks the user at the terminal, one question after the other. Rejects with `Unanswered` for a question that is left
 * open or interrupted.
 */
export function askUser(context: PromptContext): OnInput {
  let last: Promise<unknown> = Promise.resolve();
  return async (request) => {
    const turn = last.then(async () => ask(request, context));
    last = turn.catch(() => {});
    const answer = await turn;
    if (answer === undefined) throw new Unanswered();
    return answer;
  };
}

async function ask(request: InputRequest, context: PromptContext): Promise<InputResult | undefined> {
  const { prompts, interrupted } = context;
  const signal = AbortSignal.any([request.signal, interrupted]);
  if (signal.aborted) return undefined;
  if (request.method !== "elicitation/create") return refuse(request, context);
  using _room = context.suspend();
  try {
    const { lines, fields, isForm, obstacle } = questionOf(request.params);
    const hint = fields.length === 0 ? [] : ["", "Press Escape for other ways to answer."];
    await prompts.message([`${context.askerLabel(request)} asks:`, ...lines, ...hint].join("\n"));
    const canWait = request.taskId !== null;
    const answer = await askForm(fields, { prompts, obstacle, canWait, signal });
    if (answer.action === "later") {
      // A stdio server has one client at a time.
      const first = context.ownsServer ? "End this command with Ctrl-C, then answer" : "Answer";
      context.note(`The question stays open. ${first} it with:\n  ${answerCommand(request.taskId ?? "")}`);
      return undefined;
    }
    return answer.action === "accept" && isForm ? answer : { action: answer.action };
  } catch (error) {
    if (interrupted.aborted) return undefined;
    if (request.signal.aborted) context.note("The question is no longer open.");
    throw error;
  }
}

/** These are not declared as capabilities, so only a server that breaks the protocol asks for them. */
function refuse({ method, taskId }: InputRequest, { note }: PromptContext): undefined {
  const wanted = method === "sampling/createMessage" ? "a model" : "the roots of a project";
  if (taskId === null) throw new Error(`The server asks for ${wanted}, which a command line does not have`);
  note(
    `The server asks for ${wanted}, which a command line does not have. The question stays open for other clients.`,
  );
  return undefined;
}
