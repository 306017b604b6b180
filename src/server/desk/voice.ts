import type { JsonObject } from "../../generation/json-object.ts";
import type { Progress } from "../../task/record.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { Reply } from "../connection/asked.ts";
import type { Question } from "../connection/question.ts";

/** A message that wants no answer. */
export interface Telling {
  readonly method: string;
  readonly params: JsonObject;
}

/** What names a question for ever: its task, and its key there. */
export interface QuestionName {
  readonly wireId: string;
  readonly key: string;
}

/** How a generation speaks of a task to clients without being asked. What it says nothing of is left out. */
export interface Voice {
  /** The state of the task, which is told whenever it reads otherwise than before. */
  state?(snapshot: TaskSnapshot): Telling;
  /** Progress under the token of the request that became the task. */
  progress?(progressToken: string | number, progress: Progress, wireId: string): Telling;
  /** Puts a question to a client; as `askClient`. */
  ask(question: Question, name: QuestionName): Promise<Reply>;
}
