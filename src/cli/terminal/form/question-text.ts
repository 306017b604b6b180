import { sanitizeLine, sanitizeText } from "../sanitize.ts";
import type { FormField } from "./form-field.ts";
import { readForm } from "./read-form.ts";

/** An elicitation, as it is put to a person. */
export interface Question {
  /** What it says, line by line, harmless. */
  readonly lines: readonly string[];
  /** What to ask for; nothing where it is to be agreed to only. */
  readonly fields: readonly FormField[];
  /** Whether an acceptance holds `fields`: forms do, addresses do not. */
  readonly isForm: boolean;
  /** Why it cannot be accepted here. */
  readonly obstacle: string | undefined;
}

interface ElicitationParams {
  readonly message: string;
  readonly mode?: unknown;
  readonly url?: unknown;
  readonly requestedSchema?: unknown;
}

/** Longer messages are cut: the question has to stay on the screen. */
const longestMessage = 4_000;

export function questionOf(params: ElicitationParams): Question {
  const text = sanitizeText(params.message).trim();
  const cut = text.length > longestMessage ? `${text.slice(0, longestMessage).toWellFormed()} …` : text;
  const message = cut.split("\n");
  if (params.mode === "url") return { ...address(message, params.url), fields: [], isForm: false };
  const form = readForm(params.requestedSchema);
  const unknown = form.find(({ kind, required }) => kind === "unknown" && required);
  return {
    lines: message,
    fields: form.filter(({ kind }) => kind !== "unknown"),
    isForm: true,
    obstacle:
      unknown === undefined
        ? undefined
        : `It needs "${sanitizeLine(unknown.title, 200)}", which is of a kind that cannot be asked for here.`,
  };
}

/** The address as a browser takes it: a host in other letters is shown as it is looked up. Nothing opens it here. */
function address(message: readonly string[], given: unknown): Pick<Question, "lines" | "obstacle"> {
  const url = typeof given === "string" ? URL.parse(given) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    const shown = sanitizeLine(typeof given === "string" ? given : "", 2_000);
    return {
      lines: [...message, "", `Its address: ${shown === "" ? "none" : shown}`],
      obstacle: "That is not a web address.",
    };
  }
  const insecure = url.protocol === "http:" ? " The connection to it is not encrypted." : "";
  const user =
    url.username === "" && url.password === "" ? "" : " What stands before the @ is no part of it.";
  return {
    lines: [
      ...message,
      "",
      `Open this in a browser yourself, if you trust ${url.host}:`,
      url.href,
      `The host is ${url.host}.${insecure}${user} Accepting means that you agree to go there.`,
    ],
    obstacle: undefined,
  };
}
