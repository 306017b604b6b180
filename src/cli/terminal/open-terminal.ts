import type { Progress } from "@modelcontextprotocol/client";
import type { Io } from "../io.ts";
import {
  movesCursor,
  showsUnicode,
  type Terminal,
  askerLabel,
  type Display,
  type ShownTask,
  howToResume,
} from "./terminal.ts";
import { untilAborted } from "../../client/background-work.ts";
import { systemClock, type ClientClock } from "../../client/clock.ts";
import { aborted, endBySignal, KeyWatch, type SignalWatch, watchSignals } from "./signal-watch.ts";
import { LiveDisplay } from "./live-display.ts";
import { Prompts } from "./prompts.ts";
import type { InputRequest, InputResult, OnInput } from "../../client/question/ask-user.ts";
import { askForm } from "./form/ask-form.ts";
import { questionOf } from "./form/question-text.ts";
import { answerCommand } from "../arguments/words.ts";
import type { RemoteTask } from "../../client/task/remote-task.ts";
import { sanitizeLine } from "./text.ts";

interface TerminalOptions {
  /** The output is for a program: shows no progress and asks no questions. */
  readonly quiet: boolean;
  /** The server is a process of this command. */
  readonly ownsServer: boolean;
}

/** Opens the terminal of a command. The live line and prompts need one that can move its cursor. */
export async function openTerminal(io: Io, options: TerminalOptions): Promise<Terminal> {
  const { stdin, stderr, env } = io;
  if (options.quiet || !movesCursor(stderr, env)) return plainTerminal(io, options);
  return interactiveTerminal(io, {
    asks: stdin.isTTY && !stdin.readableEnded,
    ownsServer: options.ownsServer,
  });
}

interface InteractiveOptions {
  /** Whether the user can type on stdin. */
  readonly asks: boolean;
  /** Whether the server is a process of this command. */
  readonly ownsServer: boolean;
}

/** A terminal with a live line on stderr, and with prompts if the user can type. */
export function interactiveTerminal({ stdin, stderr, env }: Io, options: InteractiveOptions): Terminal {
  const { asks, ownsServer } = options;
  const watch = watchSignals(process, (signal) => {
    close();
    endBySignal(signal);
  });
  const display = new LiveDisplay(stderr, { clock: systemClock, unicode: showsUnicode(env), asks });
  const sharesSignals = ownsServer && process.platform === "win32";
  const keys = asks && sharesSignals ? new KeyWatch(stdin, () => watch.press()) : undefined;
  const close = (): void => {
    display.end();
    keys?.[Symbol.dispose]();
    watch[Symbol.dispose]();
  };
  const note = (line: string): void => display.note(line);
  return {
    display,
    askUser: asks
      ? askUser({
          prompts: new Prompts(stdin, stderr, () => watch.press()),
          askerLabel: () => display.askerLabel,
          ownsServer,
          suspend: () => {
            const suspended = display.suspend();
            const released = keys?.release();
            return {
              [Symbol.dispose]: () => {
                released?.[Symbol.dispose]();
                suspended[Symbol.dispose]();
              },
            };
          },
          interrupted: watch.signal,
          note,
        })
      : leaveAllOpen,
    isInteractive: asks,
    capabilities: { elicitation: { form: {}, url: {} } },
    interrupts: {
      signal: watch.signal,
      terminated: watch.terminated,
      async decide(task) {
        display.stopLine();
        const decision = await decideAfterInterrupt(task, watch, systemClock, note);
        if (decision === "cancel") display.cancelling();
        return decision;
      },
      giveUp(line) {
        display.stopLine();
        note(line);
      },
    },
    close,
  };
}

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

/** Plain lines on stderr, without prompts. `quiet`: no lines either. */
export function plainTerminal({ stderr }: Io, { quiet }: { readonly quiet: boolean }): Terminal {
  const display = new PlainDisplay((text) => void (quiet || stderr.write(text)));
  const watch = watchSignals();
  return {
    display,
    askUser: leaveAllOpen,
    isInteractive: false,
    // Another command can answer the questions later.
    capabilities: { elicitation: { form: {}, url: {} } },
    interrupts: {
      signal: watch.signal,
      terminated: watch.terminated,
      decide: async (task) => decideAfterInterrupt(task, watch, systemClock, (line) => display.note(line)),
      giveUp: (line) => display.note(line),
    },
    close: () => watch[Symbol.dispose](),
  };
}

/** One plain line per change, for pipes, scripts and logs. */
export class PlainDisplay implements Display {
  readonly #write: (text: string) => void;
  #server = "the server";
  #tool: string | undefined;
  #task: ShownTask | undefined;
  #trouble: string | undefined;
  #last = "";

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  connecting(server: string): void {
    this.#server = sanitizeLine(server, 200); // not worth a line in a log
  }

  connected(): void {
    // The same.
  }

  calling(tool: string): void {
    this.about(tool);
  }

  about(tool: string | undefined): void {
    this.#tool = tool === undefined ? undefined : sanitizeLine(tool, 200);
  }

  started(task: ShownTask): void {
    this.#task = task;
    this.about(task.tool);
    this.#line(`task ${sanitizeLine(task.taskId)}`);
  }

  update({ status, statusMessage, taskId, tool }: RemoteTask): void {
    if (this.#tool === undefined) this.about(tool);
    const state = sanitizeLine(statusMessage === undefined ? status : `${status}: ${statusMessage}`);
    const asks = status === "input_required" && this.#task !== undefined;
    this.#line(
      asks
        ? `${state}\n${askerLabel(this.#server, this.#tool)} asks a question. Answer with:\n  ${answerCommand(taskId)}`
        : state,
    );
  }

  progress({ progress, total, message }: Progress): void {
    const of = total === undefined ? `${progress}` : `${progress}/${total}`;
    this.#line(sanitizeLine(message === undefined ? of : `${of} ${message}`));
  }

  trouble(text: string | undefined): void {
    if (text !== undefined) this.#line(text);
    else if (this.#trouble !== undefined) this.#line("server reachable again");
    this.#trouble = text;
  }

  note(line: string): void {
    this.#line(line);
  }

  suspend(): Disposable {
    return { [Symbol.dispose]: () => undefined }; // there is no live line
  }

  end(): void {
    // The same.
  }

  #line(line: string): void {
    if (line === this.#last) return;
    this.#last = line;
    this.#write(`${line}\n`);
  }
}

/** How long to wait for a second Ctrl-C. */
const pauseMs = 3_000;

/**
 * After the first interrupt: says what happens to the task and how to return to it, and waits for a second Ctrl-C,
 * which cancels it. SIGTERM detaches at once.
 */
export async function decideAfterInterrupt(
  task: ShownTask,
  watch: SignalWatch,
  clock: ClientClock,
  say: (line: string) => void,
): Promise<"detach" | "cancel"> {
  const { again, terminated } = watch;
  say(howToResume(task));
  if (!terminated.aborted && !again.aborted) {
    say(`Press Ctrl-C again within ${pauseMs / 1000} seconds to cancel the task.`);
    const pause = clock.deadline(pauseMs);
    await aborted(AbortSignal.any([again, terminated, pause.signal]));
    pause.clear();
  }
  if (!again.aborted) return "detach";
  say("Cancelling the task …");
  return "cancel";
}

/** The user did not answer the question; it stays open for other clients. */
export class Unanswered extends Error {
  override readonly name = "Unanswered";

  constructor() {
    super("The question stays open");
  }
}

/**
 * Leaves a question open without an answer: waits until it is withdrawn. Before there is a task, no other client can answer it, so
 * `giveUp` is called.
 */
export function keepQuestionsOpen(
  onInput: OnInput,
  giveUp: (request: InputRequest) => void = () => undefined,
): OnInput {
  return async (request) => {
    try {
      return await onInput(request);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      if (request.taskId === null) giveUp(request);
      return untilAborted(request.signal); // until it is withdrawn
    }
  };
}

/** Without a user to ask, every question stays open. */
export const leaveAllOpen: OnInput = async () => {
  throw new Unanswered();
};
