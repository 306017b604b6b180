import { systemClock } from "../../client/clock.ts";
import type { InputRequest, OnInput } from "../../client/question/input-request.ts";
import type { RemoteTask } from "../../client/task/remote-task.ts";
import type { TaskReference } from "../../client/task/task-reference.ts";
import type { TaskClient } from "../../client/task-client.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { TransportKind } from "../../client/client-events.ts";
import { describeQuestion } from "../command/describe-question.ts";
import type { Context, ServerOptions, WaitingOptions } from "../context.ts";
import { exitCodes, interruptedBy } from "../exit-code.ts";
import type { CommandHandles } from "../state/command-handles.ts";
import { Stopped } from "../errors.ts";
import { keepQuestionsOpen } from "../terminal/unanswered.ts";
import { openTerminal } from "../terminal/open-terminal.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { FoundServer } from "./find-server.ts";
import { openServer, type ProtocolChoice } from "./open-server.ts";
import { recognisesRepeats } from "./server-capabilities.ts";

/** A connection, for as long as a command needs it. */
export interface Session {
  readonly client: TaskClient;
  readonly transport: TransportKind | undefined;
  readonly server: FoundServer;
  readonly terminal: Terminal;
  /** Aborts on Ctrl-C, after `--timeout`, and with a TaskClientError when nobody can answer a question of a call. */
  readonly signal: AbortSignal;
  /** Call it after the outcome was printed: removes the task from the list. */
  readonly printed: (ended?: readonly TaskReference[]) => Promise<void>;
  /** Call it with what the server says of a task, for the list. */
  readonly saw: (reference: TaskReference | null, task: RemoteTask) => void;
}

interface Target {
  readonly server: FoundServer;
  readonly protocol?: ProtocolChoice;
  /** Replaces asking on the terminal. */
  readonly onInput?: OnInput | undefined;
}

/** What the connections of one command share. */
export interface Workplace {
  readonly terminal: Terminal;
  /** Aborts on Ctrl-C and after `--timeout`. */
  readonly signal: AbortSignal;
}

interface WorkplaceOptions {
  /** In seconds. */
  readonly timeout?: number | undefined;
  /** Whether a server is a process of this command. */
  readonly ownsServer: boolean;
}

/** Connects to the server, runs `work`, and then closes the connection and the display. */
export async function withServer<Value>(
  context: Context,
  target: Target,
  options: WaitingOptions,
  work: (session: Session) => Promise<Value>,
): Promise<Value> {
  const { timeout } = options;
  const ownsServer = typeof target.server.target !== "string";
  return withTerminal(context, { timeout, ownsServer }, async (workplace) =>
    withConnection(context, { ...target, ...workplace }, options, work),
  );
}

/** Runs `work` with a terminal, and with the signals that end the command. */
export async function withTerminal<Value>(
  { io, output }: Context,
  { timeout, ownsServer }: WorkplaceOptions,
  work: (workplace: Workplace) => Promise<Value>,
): Promise<Value> {
  const terminal = await openTerminal(io, { quiet: output.json, ownsServer });
  const { interrupts, display } = terminal;
  const deadline = timeout === undefined ? undefined : systemClock.deadline(timeout * 1000);
  const signal = AbortSignal.any([interrupts.signal, ...(deadline ? [deadline.signal] : [])]);
  try {
    return await work({ terminal, signal });
  } catch (error) {
    // Waits for a task handle their own interruption.
    if (error !== signal.reason) throw error;
    if (!interrupts.signal.aborted) {
      throw new Stopped(exitCodes.unfinished, "No answer in time: gave up before there was a task");
    }
    await interrupts.decide(undefined);
    throw new Stopped(interruptedBy(interrupts), "Interrupted before there was a task", { wasShown: true });
  } finally {
    deadline?.clear();
    display.end();
    terminal.close();
  }
}

/** Connects to the server, runs `work`, and then closes the connection. */
export async function withConnection<Value>(
  { io, state }: Context,
  { server, protocol = {}, onInput, terminal, signal: stopped }: Target & Workplace,
  options: ServerOptions,
  work: (session: Session) => Promise<Value>,
): Promise<Value> {
  const unanswered = new AbortController();
  const giveUp = (request: InputRequest): void => unanswered.abort(nobodyAnswers(request, server));
  const signal = AbortSignal.any([stopped, unanswered.signal]);
  const handles = state.handlesFor(server);
  const { client, transport, explainLoss } = await openServer({
    server,
    options,
    env: io.env,
    terminal,
    signal,
    handles,
    logins: state.logins,
    protocol,
    onInput: onInput ?? keepQuestionsOpen(terminal.askUser, giveUp),
  });
  const printed: Session["printed"] = async (ended) => handles.printed(ended);
  const saw = handles.saw.bind(handles);
  const session = { client, transport, server, terminal, signal, printed, saw };
  return workOn(session, handles, work).catch((error: unknown) => {
    throw explainLoss(error);
  });
}

async function workOn<Value>(
  session: Session,
  handles: CommandHandles,
  work: (session: Session) => Promise<Value>,
): Promise<Value> {
  const { client, signal } = session;
  try {
    return await work(session);
  } catch (error) {
    if (error instanceof TaskClientError) await session.printed(); // the error is printed instead of a result
    // An interrupted call stays on the list if the server recognises a repeat, which finds its task.
    const isOver = error instanceof TaskClientError || !recognisesRepeats(client);
    if (error === signal.reason && isOver) await handles.forgetUnanswered();
    throw error;
  } finally {
    await handles.noteStates();
    await client.close();
  }
}

function nobodyAnswers({ key, method, params }: InputRequest, { spec }: FoundServer): TaskClientError {
  const question = describeQuestion(key, { method, params: { ...params } });
  const text = `The server ${spec.given} asks a question, and there is no terminal to answer on. Call the tool from a terminal. The question:\n  ${question}`;
  return new TaskClientError("unanswered", text);
}
