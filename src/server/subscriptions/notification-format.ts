import type { JsonObject } from "../../generation/message.ts";
import type { Progress, TaskRecord, TaskSnapshot } from "../../task/record.ts";
import type { LogText } from "../../task/task-line.ts";
import type { Reply } from "../connection/sent-request.ts";
import type { Question } from "../connection/question.ts";

export interface OutgoingNotification {
  readonly method: string;
  readonly params: JsonObject;
}

/** The permanent name of a question: its task, and its key there. */
export interface QuestionName {
  readonly wireId: string;
  readonly key: string;
}

/** The messages about a task that a generation sends without a request. Those that it does not have are left out. */
export interface NotificationFormat {
  /** The state of the task, which is sent when it differs from the last one. */
  state?(snapshot: TaskSnapshot): OutgoingNotification;
  /** Progress under the token of the request that became the task. */
  progress?(progressToken: string | number, progress: Progress, wireId: string): OutgoingNotification;
  /** A line of the task's log. */
  log?(line: LogText, task: Pick<TaskRecord, "tool" | "wireId">): OutgoingNotification;
  /** Asks a client; as `askClient`. */
  ask(question: Question, name: QuestionName): Promise<Reply>;
}
