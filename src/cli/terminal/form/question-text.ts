import { sanitizeLine, sanitizeText } from "../sanitize.ts";
import type { FormField } from "./form-field.ts";
import { readForm } from "./read-form.ts";

/** An elicitation, as the user sees it. */
export interface Question {
  /** The sanitized lines of its message. */
  readonly lines: readonly string[];
  /** The fields to ask for; empty for a mere confirmation. */
  readonly fields: readonly FormField[];
  /** Whether the answer has content: forms have, URLs do not. */
  readonly isForm: boolean;
  /** Why it cannot be accepted here; undefined if it can. */
  readonly obstacle: string | undefined;
}

interface ElicitationParams {
  readonly message: string;
  readonly mode?: unknown;
  readonly url?: unknown;
  readonly requestedSchema?: unknown;
}

/** Longer messages are cut, so that the question stays on the screen. */
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
        : `"${sanitizeLine(unknown.title, 200)}" is required, but is a kind of field that cannot be filled in here.`,
  };
}

/**
 * Shows the URL as a browser parses it, so that a host in look-alike letters shows as punycode. It is never opened.
 */
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
    url.username === "" && url.password === "" ? "" : " The part before the @ is not part of the host.";
  return {
    lines: [
      ...message,
      "",
      `If you trust ${url.host}, open this in your browser:`,
      url.href,
      `The host is ${url.host}.${insecure}${user} Accepting means that you agree to go there.`,
    ],
    obstacle: undefined,
  };
}
