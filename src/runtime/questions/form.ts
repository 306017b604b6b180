import {
  inputRequired,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  type ElicitResult,
  type StandardSchemaV1,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { encodeJournalKey, type JournalKey } from "../../task/journal.ts";
import { describeIssues, isSchema } from "../tool/schema.ts";

/** The JSON Schema of a form, as clients get it. */
export type JsonForm = ElicitRequestFormParams["requestedSchema"];

/** What a form asks for: an object schema of zod or another Standard Schema with a JSON form, or that JSON Schema itself. */
export type Form = StandardSchemaV1 | JsonForm;

/** A question with a form. One without `mode` is a form, too. */
export interface FormParams<Of extends Form = JsonForm> extends Omit<
  ElicitRequestFormParams,
  "mode" | "requestedSchema"
> {
  readonly mode?: "form" | undefined;
  /** The fields: texts, numbers, booleans, one of several texts (`z.enum`), or some of them (`z.array(z.enum(…))`). */
  readonly requestedSchema: Of & Flat<Of>;
}

/** A question to the user: with a form, or with an address to open. */
export type ElicitParams<Of extends Form = JsonForm> = FormParams<Of> | ElicitRequestURLParams;

/** The answer to a question. With a schema, what the user filled in has its type. */
export type ElicitAnswer<Of extends Form = JsonForm> = Of extends StandardSchemaV1
  ? | { readonly action: "accept"; readonly content: StandardSchemaV1.InferOutput<Of> }
    | { readonly action: "decline" | "cancel"; readonly content?: undefined }
  : ElicitResult;

/** What a field of a form can hold. */
type FieldValue = string | number | boolean | readonly string[] | undefined;

type Flat<Of> =
  Of extends StandardSchemaV1<infer Fields>
    ? [FormProblem<Fields>] extends [never]
      ? unknown
      : { readonly [Problem in FormProblem<Fields>]: never }
    : unknown;

type FormProblem<Fields> = Fields extends object
  ? {
      [Name in keyof Fields]-?: Fields[Name] extends FieldValue
        ? never
        : `a form cannot ask for "${Extract<Name, string>}": its fields are texts, numbers, booleans and choices`;
    }[keyof Fields]
  : "a form is an object of fields, such as z.object({ name: z.string() })";

/**
 * Asks by `ask`, which gets what clients get. A schema becomes their JSON Schema, and checks and types what they answer; a schema that is no
 * form rejects with `configuration`, as does a question that says nothing, and an answer that breaks a rule that JSON Schema has not, such as
 * one of `refine`, with `input_failed`.
 */
export function elicit<Of extends Form>(
  key: JournalKey,
  params: ElicitParams<Of>,
  ask: (params: object) => Promise<unknown>,
): Promise<ElicitAnswer<Of>> {
  const answered = elicitBy(encodeJournalKey(key), params, ask);
  answered.catch(() => undefined); // nobody has to wait for a question that rejects
  return answered as Promise<ElicitAnswer<Of>>;
}

async function elicitBy(
  key: string,
  params: ElicitParams<Form>,
  ask: (params: object) => Promise<unknown>,
): Promise<unknown> {
  const given: Readonly<Record<string, unknown>> = { ...params }; // from JavaScript, anything
  if (typeof given["message"] !== "string") {
    const problem = `The question "${key}" has no message. Say what the user is asked: task.elicit("send", { message: "Send it?", requestedSchema: … }).`;
    throw new HoldfastError("configuration", problem);
  }
  const schema = given["requestedSchema"];
  if (!isSchema(schema)) return ask({ mode: "form", ...params });
  const answer = (await ask({
    ...params,
    mode: "form",
    requestedSchema: jsonFormOf(schema, key),
  })) as ElicitResult;
  if (answer.action !== "accept") return answer;
  const checked = await schema["~standard"].validate(answer.content ?? {});
  if (checked.issues === undefined) return { ...answer, content: checked.value };
  const problem = `The answer to "${key}" does not fit its schema: ${describeIssues(checked.issues)}`;
  throw new HoldfastError("input_failed", problem);
}

/** By schema: a form is often asked in a loop. */
const jsonForms = new WeakMap<StandardSchemaV1, unknown>();

function jsonFormOf(schema: StandardSchemaV1, key: string): unknown {
  const known = jsonForms.get(schema);
  if (known !== undefined) return known;
  try {
    // A schema without a JSON form is among the reasons for which the SDK throws.
    const { params } = inputRequired.elicit({
      message: "",
      requestedSchema: schema as StandardSchemaWithJSON,
    });
    const { requestedSchema } = params as ElicitRequestFormParams;
    jsonForms.set(schema, requestedSchema);
    return requestedSchema;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HoldfastError(
      "configuration",
      `The question "${key}" cannot be asked with this schema. ${why}`,
      { cause },
    );
  }
}
