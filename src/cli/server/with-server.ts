import type { RequestOptions } from "@modelcontextprotocol/client";
import { generationAt, type WireGenerationName, wireGenerations } from "../../generation/generations.ts";
import { readKeptMs } from "../../generation/extensions.ts";
import type { ServerTasks } from "../../client/generation.ts";
import { clientGenerations } from "../../client/generations.ts";
import type { TaskClient } from "../../client/task-client.ts";
import { plainRead } from "../../client/call/read.ts";
import { systemClock } from "../../client/clock.ts";
import type { InputRequest, OnInput } from "../../client/question/ask-user.ts";
import type { RemoteTask, TaskReference } from "../../client/task/remote-task.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { TransportKind } from "../../client/client-events.ts";
import { describeQuestion } from "../terminal/form/question-text.ts";
import type { Context, ServerOptions, WaitingOptions } from "../context.ts";
import { exitCodes, interruptedBy, Stopped } from "../errors.ts";
import type { CommandHandles } from "../state/state.ts";
import { keepQuestionsOpen, openTerminal } from "../terminal/open-terminal.ts";
import { type Terminal, type Unfinished, whatIsLeft } from "../terminal/terminal.ts";
import { endsWithCommand, type FoundServer } from "./find-server.ts";
import { watchCommand } from "../arguments/words.ts";
import { openServer, type ProtocolChoice } from "./open-server.ts";

/** The generation of the Tasks protocol that a connection uses, even if the server has no tasks. */
export function generationOf({ sdk }: TaskClient): WireGenerationName {
  return generationAt(sdk.getNegotiatedProtocolVersion());
}

/** The server's name for itself; empty if it gives none. */
export function serverInfo({ sdk }: TaskClient): { readonly name: string; readonly version: string } {
  const { name = "", version = "" } = sdk.getServerVersion() ?? {};
  return { name, version };
}

/** What the server declares about its tasks; undefined if it declares none. */
export function declaredTasks(client: TaskClient): ServerTasks | undefined {
  return clientGenerations[generationOf(client)].serverTasks?.({ ...client.sdk.getServerCapabilities() });
}

/** Whether the server says that it recognises a repeated call by its idempotency key. */
export function recognisesRepeats(client: TaskClient): boolean {
  const { declaresUnder } = wireGenerations[generationOf(client)];
  return readKeptMs(client.sdk.getServerCapabilities(), declaresUnder) !== undefined;
}

/** A request by the SDK's client, within its time limit. Rejects with a TaskClientError. */
export async function request<Result>(
  send: (options: RequestOptions) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return plainRead(async () => send({ signal }), signal);
}

/** A connection, for as long as a command needs it. */
export interface Session {
  readonly client: TaskClient;
  readonly transport: TransportKind | undefined;
  readonly server: FoundServer;
  readonly terminal: Terminal;
  /** Aborts on Ctrl-C, after `--timeout`, and with a TaskClientError when a call's question cannot be answered. */
  readonly signal: AbortSignal;
  /** Call it after the outcome was printed: removes the task from the list. */
  readonly printed: (ended?: readonly TaskReference[]) => Promise<void>;
  /** Call it with the server's state of a task, for the list. */
  readonly saw: (reference: TaskReference | null, task: RemoteTask) => void;
  /** Call it for a task on the list that the server does not know. */
  readonly sawNone: CommandHandles["sawNone"];
}

interface Target {
  readonly server: FoundServer;
  readonly protocol?: ProtocolChoice;
  /** Replaces asking on the terminal. */
  readonly onInput?: OnInput | undefined;
}

interface ServerTarget extends Target {
  /** What can be left unfinished before the command waits for a task. Default: a request. */
  readonly unfinished?: Unfinished;
}

interface ConnectionTarget extends Target, Workplace {
  /** Called with the key of a call that was interrupted before its answer, and can be found by that key. */
  readonly onKept?: (key: string) => void;
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
  /** What is left unfinished if the command stops while it waits for no task. */
  readonly unfinished: () => Unfinished;
}

/** Connects to the server, runs `work`, and then closes the connection and the display. */
export async function withServer<Value>(
  context: Context,
  { unfinished = "request", ...target }: ServerTarget,
  options: WaitingOptions,
  work: (session: Session) => Promise<Value>,
): Promise<Value> {
  const { timeout } = options;
  const ownsServer = endsWithCommand(target.server);
  let left = unfinished;
  const onKept = (key: string): void => void (left = { watchCommand: watchCommand(key) });
  return withTerminal(context, { timeout, ownsServer, unfinished: () => left }, async (workplace) =>
    withConnection(context, { ...target, ...workplace, onKept }, options, work),
  );
}

/** Runs `work` with a terminal, and with the signals that end the command. */
export async function withTerminal<Value>(
  { io, output }: Context,
  { timeout, ownsServer, unfinished }: WorkplaceOptions,
  work: (workplace: Workplace) => Promise<Value>,
): Promise<Value> {
  const terminal = await openTerminal(io, { quiet: output.json, ownsServer });
  const { interrupts, display } = terminal;
  const deadline = timeout === undefined ? undefined : systemClock.deadline(timeout * 1000);
  const signal = AbortSignal.any([interrupts.signal, ...(deadline ? [deadline.signal] : [])]);
  try {
    return await work({ terminal, signal });
  } catch (error) {
    // Waits for a task handle interrupts themselves.
    if (error !== signal.reason) throw error;
    if (!interrupts.signal.aborted) {
      throw new Stopped(exitCodes.unfinished, `Timed out ${whatIsLeft(unfinished())}`);
    }
    const message = `Gave up ${whatIsLeft(unfinished())}`;
    interrupts.giveUp(message);
    throw new Stopped(interruptedBy(interrupts), message, { wasShown: true });
  } finally {
    deadline?.clear();
    display.end();
    terminal.close();
  }
}

/** Connects to the server, runs `work`, and then closes the connection. */
export async function withConnection<Value>(
  { io, state }: Context,
  { server, protocol = {}, onInput, terminal, signal: stopped, onKept }: ConnectionTarget,
  options: ServerOptions,
  work: (session: Session) => Promise<Value>,
): Promise<Value> {
  const unanswered = new AbortController();
  const giveUp = (question: InputRequest): void => unanswered.abort(nobodyAnswers(question, server));
  const signal = AbortSignal.any([stopped, unanswered.signal]);
  const handles = state.handlesFor(server);
  const { client, transport, explainLoss } = await openServer({
    server,
    options,
    io,
    terminal,
    signal,
    handles,
    logins: state.logins,
    protocol,
    onInput: onInput ?? keepQuestionsOpen(terminal.askUser, giveUp),
  });
  const printed: Session["printed"] = async (ended) => handles.printed(ended);
  const saw = handles.saw.bind(handles);
  const sawNone = handles.sawNone.bind(handles);
  const session = { client, transport, server, terminal, signal, printed, saw, sawNone };
  return workOn(session, { handles, onKept, work }).catch((error: unknown) => {
    throw explainLoss(error);
  });
}

interface WorkOptions<Value> {
  readonly handles: CommandHandles;
  readonly onKept: ConnectionTarget["onKept"] | undefined;
  readonly work: (session: Session) => Promise<Value>;
}

async function workOn<Value>(
  session: Session,
  { handles, onKept, work }: WorkOptions<Value>,
): Promise<Value> {
  const { client, signal } = session;
  try {
    return await work(session);
  } catch (error) {
    if (error instanceof TaskClientError) await session.printed(); // the error is printed instead of a result
    const isInterrupted = error === signal.reason;
    // A call without an answer stays on the list if the server recognises a repeat, which finds its task.
    const isOver = (isInterrupted && error instanceof TaskClientError) || !recognisesRepeats(client);
    if (isOver) await handles.forgetUnanswered();
    if (isInterrupted) for (const key of handles.unanswered) onKept?.(key);
    throw error;
  } finally {
    await handles.noteStates();
    await client.close();
  }
}

function nobodyAnswers({ key, method, params }: InputRequest, { shown }: FoundServer): TaskClientError {
  const question = describeQuestion(key, { method, params: { ...params } });
  const text = `The server ${shown} asks a question, and there is no terminal to answer on. Call the tool from a terminal. The question:\n  ${question}`;
  return new TaskClientError("unanswered", text);
}
