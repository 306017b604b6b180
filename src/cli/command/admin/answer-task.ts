import type { TaskDetails } from "../../../admin/admin.ts";
import { isJsonObject } from "../../../generation/message.ts";
import { readInputSchema } from "../../arguments/input-schema.ts";
import { completeArguments, parseArguments } from "../../arguments/parse-arguments.ts";
import { readPairs, type Pair } from "../../arguments/read-pairs.ts";
import type { Context } from "../../context.ts";
import { UsageError } from "../../errors.ts";
import type { ExitCode } from "../../exit-code.ts";
import { actOn, json } from "./act-on-task.ts";
import type { AdminOptions } from "./with-admin.ts";

export interface AnswerTaskOptions extends AdminOptions {
  /** `key=value` pairs; `true` if there are none. */
  readonly accept?: readonly string[] | true;
  readonly decline?: true;
}

interface AnswerTask {
  readonly place: string;
  readonly id: string;
  /** The question's key; optional if only one is open. */
  readonly key: string | undefined;
  /** The result that a client would send, as JSON. */
  readonly value: string | undefined;
  readonly options: AnswerTaskOptions;
}

/** `holdfast admin STORE answer ID [KEY] [JSON]` */
export async function answerTask(context: Context, command: AnswerTask): Promise<ExitCode> {
  const { key, value, options } = command;
  const { accept, decline } = options;
  const ways = [value, accept, decline].filter((way) => way !== undefined);
  if (ways.length !== 1) throw new UsageError("Give the answer as JSON, or --accept, or --decline.");
  const pairs = await readPairs(Array.isArray(accept) ? accept : [], context.io.cwd);
  return actOn(context, command, async (id, { admin, acts }) => {
    const question = openQuestion(await admin.show(id), key);
    const task = await acts().answer(id, { [question.key]: answerTo(question, command, pairs) });
    return { task, report: `answered "${question.key}" of ${id}; the task is now ${task.state}` };
  });
}

function openQuestion(
  { id, questions }: TaskDetails,
  key: string | undefined,
): TaskDetails["questions"][number] {
  const found =
    key === undefined && questions.length === 1 ? questions[0] : questions.find((each) => each.key === key);
  if (found !== undefined) return found;
  if (questions.length === 0) throw new UsageError(`Task ${id} has no open question.`);
  const keys = questions.map((each) => each.key).join(", ");
  const problem =
    key === undefined ? "has several open questions" : `has no open question ${JSON.stringify(key)}`;
  throw new UsageError(`Task ${id} ${problem}. Open: ${keys}.`);
}

function answerTo(
  { method, params }: TaskDetails["questions"][number],
  { value, options: { decline } }: AnswerTask,
  pairs: readonly Pair[],
): unknown {
  if (value !== undefined) return json("An answer", value);
  if (method !== "elicitation/create") throw new UsageError(`Answer ${method} with the result as JSON.`);
  if (decline === true) return { action: "decline" };
  const schema = isJsonObject(params) ? params["requestedSchema"] : undefined;
  const form = readInputSchema(isJsonObject(schema) ? schema : {});
  const content = completeArguments(parseArguments(pairs, form, {}), form);
  return isJsonObject(schema) ? { action: "accept", content } : { action: "accept" };
}
