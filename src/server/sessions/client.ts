import { generation as core, declaresTasks } from "../../generation/2025-11-25.ts";
import { generation as sep, declaresTask } from "../../generation/sep-1686.ts";
import { declaresTaskLines } from "../../generation/extensions.ts";
import type { Connection } from "../connection/connection.ts";

/** The generations of tasks that a client of an earlier revision may know. */
type Spoken = typeof core | typeof sep;

/** Which tasks the client of a connection of an earlier revision knows, judging by its requests. */
export class Client {
  readonly #connection: Connection;
  #asked: Spoken | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Whether it declared tasks of 2025-11-25; assumed without a session, where the handshake was another request. */
  get hasCore(): boolean {
    return !this.#connection.streams.initialized || this.#connection.protocolVersion === core;
  }

  /** Whether it has no tasks. */
  get isPlain(): boolean {
    if (this.#asked !== undefined || this.#declaresSep) return false;
    return !this.hasCore || !declaresTasks(this.#connection.capabilities);
  }

  /** Whether to tell it that logs and outputs of tasks are resources. */
  get asksForLines(): boolean {
    return declaresTaskLines(this.#connection.capabilities, "experimental");
  }

  /** The generation in which it last asked for a task, or else the one that it declares. */
  get speaks(): Spoken {
    return this.#asked ?? (this.#declaresSep ? sep : core);
  }

  /** It asked for a task of this generation. */
  asked(generation: Spoken): void {
    this.#asked = generation;
  }

  get #declaresSep(): boolean {
    const { capabilities } = this.#connection;
    return (
      declaresTask(capabilities, "elicitation/create") || declaresTask(capabilities, "sampling/createMessage")
    );
  }
}
