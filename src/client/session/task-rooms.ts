import type { JSONRPCNotification, JSONRPCRequest } from "@modelcontextprotocol/client";
import { inputMethods } from "../../task/input.ts";
import type { UserCallbacks } from "../question/ask-user.ts";
import type { RemoteTask } from "../task/remote-task.ts";
import type { TaskAttendant } from "../task-protocol.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { Arrivals } from "./arrivals.ts";
import { LooseQuestions } from "./loose-questions.ts";
import type { TaskRoom } from "./task-room.ts";

interface TaskRoomsOptions<Room> {
  readonly requester: RawRequester;
  readonly callbacks: UserCallbacks;
  /** The task that a request of the server says it is of. */
  readonly relatedTaskOf: (params: unknown) => string | undefined;
  readonly makeRoom: (taskId: string) => Room;
}

const methods: ReadonlySet<string> = new Set(inputMethods);

/** Brings what a server asks by itself, on whatever stream, to the tasks that it is about (C-095, S-062). */
export class TaskRooms<Room extends TaskRoom> {
  readonly #options: TaskRoomsOptions<Room>;
  readonly #loose: LooseQuestions;
  readonly #rooms = new Map<string, Room>();
  readonly #arrivals = new Arrivals();

  constructor(options: TaskRoomsOptions<Room>) {
    const { requester, callbacks } = options;
    this.#options = options;
    this.#loose = new LooseQuestions(requester, callbacks);
    requester.takers.onRequest((request) => this.#asked(request));
    requester.takers.onNotification((notification) => this.#notified(notification));
  }

  get(taskId: string): Room | undefined {
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
    const { callbacks, relatedTaskOf, requester } = this.#options;
    const { onInput, declares } = callbacks;
    const { method, params = {} } = request;
    // Where there is nobody to ask, the SDK's client may have a handler of the host's own; or it refuses.
    if (!methods.has(method) || onInput === undefined || !declares({ method, params })) return false;
    if (!this.#arrivals.isFirst(request.id, requester.session)) return true;
    const taskId = relatedTaskOf(request.params);
    if (taskId === undefined) this.#loose.ask(request);
    else {
      const room = this.#room(taskId);
      if (room.askings.ask(request)) room.askingsChanged();
    }
    return true;
  }

  /** It may interest the host too. */
  #notified({ method, params }: JSONRPCNotification): boolean {
    if (method !== "notifications/cancelled") return false;
    const id = params?.["requestId"];
    this.#loose.withdraw(id);
    for (const room of this.#rooms.values()) if (room.askings.withdraw(id)) room.askingsChanged();
    return false;
  }

  #room(taskId: string): Room {
    let room = this.#rooms.get(taskId);
    if (room === undefined) this.#rooms.set(taskId, (room = this.#options.makeRoom(taskId)));
    return room;
  }

  #tidy(taskId: string, room: Room): void {
    if (room.isEmpty && this.#rooms.get(taskId) === room) this.#rooms.delete(taskId);
  }
}
