import type { JSONRPCNotification, JSONRPCRequest } from "@modelcontextprotocol/client";
import { relatedTaskOf } from "../../generation/2025-11-25/related-task.ts";
import { isJsonObject } from "../../generation/json-object.ts";
import { inputMethods } from "../../task/input.ts";
import type { UserCallbacks } from "../question/ask-user.ts";
import { Violation } from "../reply/reply.ts";
import type { RemoteTask } from "../task/remote-task.ts";
import type { TaskAttendant } from "../task-protocol.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { LooseQuestions } from "./loose-questions.ts";
import { readTask } from "./read-task.ts";
import { TaskRoom } from "./task-room.ts";

const methods: ReadonlySet<string> = new Set(inputMethods);

/** Brings what a server sends by itself, on whatever stream, to the tasks that it is about (C-095). */
export class TaskRooms {
  readonly #requester: RawRequester;
  readonly #callbacks: UserCallbacks;
  readonly #loose: LooseQuestions;
  readonly #rooms = new Map<string, TaskRoom>();

  constructor(requester: RawRequester, callbacks: UserCallbacks) {
    this.#requester = requester;
    this.#callbacks = callbacks;
    this.#loose = new LooseQuestions(requester, callbacks);
    requester.takers.onRequest((request) => this.#asked(request));
    requester.takers.onNotification((notification) => this.#notified(notification));
  }

  get(taskId: string): TaskRoom | undefined {
    return this.#rooms.get(taskId);
  }

  /** Returns the way out. */
  enter(taskId: string, attendant: TaskAttendant, known: RemoteTask | undefined): () => void {
    const room = this.#room(taskId);
    room.enter(attendant, known);
    return () => {
      room.leave(attendant);
      this.#tidy(taskId, room);
    };
  }

  /** The task asks nothing any more. */
  over(taskId: string): void {
    const room = this.#rooms.get(taskId);
    if (room === undefined) return;
    room.askings.clear();
    this.#tidy(taskId, room);
  }

  #asked(request: JSONRPCRequest): boolean {
    const { onInput, declares } = this.#callbacks;
    // Where there is nobody to ask, the SDK's client may have a handler of the host's own.
    if (!methods.has(request.method) || onInput === undefined || !declares(request.method)) return false;
    const taskId = relatedTaskOf(request.params);
    if (taskId === undefined) this.#loose.ask(request);
    else {
      const room = this.#room(taskId);
      if (room.askings.ask(request)) room.askingsChanged();
    }
    return true;
  }

  /** All of these may interest the host too. */
  #notified({ method, params }: JSONRPCNotification): boolean {
    if (method === "notifications/cancelled") {
      const id = params?.["requestId"];
      this.#loose.withdraw(id);
      for (const room of this.#rooms.values()) if (room.askings.withdraw(id)) room.askingsChanged();
    } else if (method === "notifications/tasks/status" && isJsonObject(params)) {
      const seen = readTask(params);
      // One that cannot be read is left to the next poll, which says what is wrong with it.
      if (!(seen instanceof Violation)) this.#rooms.get(seen.taskId)?.told(seen);
    }
    return false;
  }

  #room(taskId: string): TaskRoom {
    let room = this.#rooms.get(taskId);
    if (room === undefined) this.#rooms.set(taskId, (room = new TaskRoom(taskId, this.#requester)));
    return room;
  }

  #tidy(taskId: string, room: TaskRoom): void {
    if (room.isEmpty && this.#rooms.get(taskId) === room) this.#rooms.delete(taskId);
  }
}
