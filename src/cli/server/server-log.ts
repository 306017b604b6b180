import { TaskClientError } from "../../client/task-client-error.ts";

/** The last lines are the ones that say why a process ended. */
const keptCharacters = 4_000;

/** What a server's process wrote to stderr, as far as it is worth keeping. */
export class ServerLog {
  #text = "";

  take(text: string): void {
    this.#text = (this.#text + text).slice(-keptCharacters);
  }

  /** The same error, with the log where that may be the reason. */
  explain(error: unknown): unknown {
    const said = this.#text.trim();
    if (!(error instanceof TaskClientError) || said === "") return error;
    const { code, cause, taskId } = error;
    const options = { cause, taskId, ...(error.error !== undefined && { error: error.error }) };
    return new TaskClientError(code, `${error.message}\nThe server wrote:\n${said}`, options);
  }
}
