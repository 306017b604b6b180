import type { TaskDetails } from "../../../admin/admin.ts";
import type { Input } from "../../../admin/operation.ts";
import type { Admin } from "../../../admin/operations.ts";
import { isJsonObject } from "../../../generation/message.ts";
import {
  completeArguments,
  exactJson,
  type Pair,
  parseArguments,
  readPairs,
} from "../../arguments/parse-arguments.ts";
import { readInputSchema } from "../../arguments/input-schema.ts";
import { UsageError } from "../../errors.ts";
import type { Io } from "../../io.ts";

/** The words and options of `holdfast admin STORE answer ID [KEY] [JSON]`. */
interface GivenAnswer {
  readonly id: string;
  /** The question's key; optional if only one is open. */
  readonly key?: string;
  /** The result that a client would send, as JSON. */
  readonly value?: string;
  /** With `--accept`: the content. */
  readonly pairs: readonly Pair[];
  readonly decline?: true;
}

export async function readAnswer(
  [id = "", key, value]: readonly (string | undefined)[],
  options: Input,
  { cwd }: Io,
): Promise<Input> {
  const { accept, decline } = options as {
    /** `true` without pairs. */
    readonly accept?: readonly string[] | true;
    readonly decline?: true;
  };
  const ways = [value, accept, decline].filter((way) => way !== undefined);
  if (ways.length !== 1) throw new UsageError("Give the answer as JSON, or --accept, or --decline.");
  return { id, key, value, decline, pairs: await readPairs(Array.isArray(accept) ? accept : [], cwd) };
}

/** The answer to the one open question that is meant. */
export async function answersTo(typed: Input, { admin }: { readonly admin: Admin }): Promise<Input> {
  const given = typed as unknown as GivenAnswer;
  const { id, key } = given;
  const question = openQuestion(await admin.show(id), key);
  return { id, answers: { [question.key]: answerTo(question, given) } };
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
  { value, decline, pairs }: GivenAnswer,
): unknown {
  if (value !== undefined) return exactJson("An answer", value);
  if (method !== "elicitation/create") throw new UsageError(`Answer ${method} with the result as JSON.`);
  if (decline === true) return { action: "decline" };
  const schema = isJsonObject(params) ? params["requestedSchema"] : undefined;
  const form = readInputSchema(isJsonObject(schema) ? schema : {});
  const content = completeArguments(parseArguments(pairs, form, {}), form);
  return isJsonObject(schema) ? { action: "accept", content } : { action: "accept" };
}
