import type { JSONRPCRequest } from "@modelcontextprotocol/server";
import type { DispatchedServer } from "../../dispatch/dispatch-transport.ts";
import type { Principal } from "../../limits.ts";
import type { SessionDispatcher } from "../../sessions/session-dispatcher.ts";
import type { TaskServer } from "../../task-server.ts";
import type { Outgoing } from "../exchange.ts";
import type { StreamAnswer } from "../outgoing-stream.ts";
import type { EventId, EventLog, OpenCall } from "./event-log.ts";
import { extraInfo, type Incoming } from "./incoming.ts";
import { methodNotAllowed, notAcceptable, sessionNotFound, tooManyOpen } from "./refusals.ts";
import { SessionStream, type SessionStreams, standaloneNumber } from "./session-streams.ts";
import type { SessionTransport } from "./session-transport.ts";

/** What the streams of a session are resumed with. */
export interface ResumptionParts {
  readonly server: TaskServer;
  readonly principal: Principal;
  readonly log: EventLog;
  readonly streams: SessionStreams;
  readonly transport: SessionTransport;
  /** How many requests may be open, with or without a connection. */
  readonly maxOpenRequests: number;
  /** Undefined before it is connected. */
  readonly session: () => DispatchedServer<SessionDispatcher> | undefined;
}

/** Answers the GET requests of a session: for its standalone stream, and for the rest of a stream that broke. */
export class Resumption {
  readonly #parts: ResumptionParts;

  constructor(parts: ResumptionParts) {
    this.#parts = parts;
  }

  /** Opens the stream of the session, or resumes a stream that broke. */
  async get(incoming: Incoming): Promise<Outgoing> {
    const { transport, streams, log } = this.#parts;
    const { headers } = incoming.request;
    if (!/text\/event-stream/i.test(headers.get("accept") ?? "")) {
      return notAcceptable("Client must accept text/event-stream");
    }
    const eventId = headers.get("last-event-id") || null; // an empty one is none
    const last = eventId === null ? undefined : log.ids.parse(eventId);
    if (eventId !== null && last === undefined) return nothingToResume();
    const refused =
      (await transport.refusal(incoming)) ??
      incoming.admitted.refusal(last === undefined ? [] : [...streams.needed]);
    if (refused !== undefined) return refused;
    // Of the log of another process, the client has seen nothing in this one.
    const isOurs = last?.log === log.name;
    const after = last && (isOurs ? last.event : 0);
    if (last === undefined || last.stream === standaloneNumber) {
      return this.#resume(streams.standalone, after, incoming);
    }
    if (!isOurs) return this.#resumeEarlier(last.calls, incoming);
    const stream = this.#streamOf(last);
    return stream === undefined ? nothingToResume() : this.#resume(stream, after, incoming);
  }

  /** The rest of a stream, after the event of that number. */
  #resume(stream: SessionStream, after: number | undefined, incoming: Incoming): StreamAnswer {
    const { streams, transport } = this.#parts;
    const response = transport.carry(stream, incoming, () => {
      // Else a client whose connection breaks before the next message would not know what to resume.
      if (transport.takesPriming(incoming)) stream.prime(after);
      if (after !== undefined) stream.replay(after);
    });
    // A stream that is complete.
    if (stream.number !== standaloneNumber && streams.numbered(stream.number) === undefined) {
      stream.disconnect();
    }
    return response;
  }

  /** Answers requests that came to an earlier process, on a stream of this one. */
  async #resumeEarlier(calls: readonly OpenCall[], incoming: Incoming): Promise<Outgoing> {
    const { server, principal, streams, transport, maxOpenRequests } = this.#parts;
    if (calls.length === 0) return nothingToResume();
    return incoming.admitted.admit(calls.map(messageOf), async (admitted) => {
      const needed = [...admitted.needed, ...(await server.scopesOfTasks(calls.map(joinedBy), principal))];
      const refused = admitted.refusal(needed);
      if (refused !== undefined) return refused;
      if (transport.isClosed) return sessionNotFound();
      // The client has come back for them before, and lost that connection too.
      const known = calls.map(({ id }) => streams.of(id)).find((stream) => stream !== undefined);
      if (known !== undefined) return this.#resume(known, 0, incoming);
      if (streams.unanswered + calls.length > maxOpenRequests) {
        return tooManyOpen(undefined, "session", maxOpenRequests);
      }
      const extra = extraInfo(incoming);
      const session = this.#parts.session();
      const stream = streams.begin(calls, [...incoming.admitted.needed, ...needed]);
      const response = this.#resume(stream, undefined, incoming);
      for (const call of calls) {
        if (call.request !== undefined) transport.receive([messageOf(call)], extra);
        else session?.answer(call.id, session.dispatcher.resume(call.id, call.task, extra), extra);
      }
      return response;
    });
  }

  /** The stream of an event of this process; undefined if nothing can follow on it. */
  #streamOf({ stream, event }: EventId): SessionStream | undefined {
    const { streams, log } = this.#parts;
    if (event > log.last) return undefined;
    const missed = log.after(event, stream).length > 0;
    return streams.numbered(stream) ?? (missed ? new SessionStream(stream, [], log) : undefined);
  }
}

/** A call as its client sent it; of one that cannot be repeated, nothing but its id is known. */
function messageOf({ id, request }: OpenCall): JSONRPCRequest {
  return { method: "resumed", ...request, jsonrpc: "2.0", id };
}

/** A message that names the task which a call has joined. */
function joinedBy({ task }: OpenCall): object {
  return { method: "tasks/result", params: { taskId: task } };
}

/** Else the stream would end at once, and the client would resume it again and again. */
function nothingToResume(): Response {
  return methodNotAllowed("POST, DELETE");
}
