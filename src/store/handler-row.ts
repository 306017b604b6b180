import type { HandlerName } from "../task/queue.ts";
import { taskMethods } from "../task/record.ts";
import { columnsOf, oneOf, text, type Row } from "./row.ts";

const at = columnsOf(["method", "tool"]);

/** The handler of a row of `method` and `tool`. Undefined for a damaged name, which no handler has. */
export function handlerOf(row: Row): HandlerName | undefined {
  try {
    return { method: oneOf(row, at.method, taskMethods), tool: text(row, at.tool) };
  } catch {
    return undefined;
  }
}

/** The handlers of an owner as JSON text, each in one fixed form. */
export function handlersText(handlers: readonly HandlerName[]): string {
  return `[${handlers.map(handlerText).join(",")}]`;
}

/** The part of an owner's JSON text that stands for this handler. */
export function handlerText({ method, tool }: HandlerName): string {
  return JSON.stringify({ method, tool });
}

/** The handlers in an owner's JSON text. None if it is damaged: one unreadable owner must not stop the others. */
export function handlersIn(json: string): readonly HandlerName[] {
  try {
    const handlers: unknown = JSON.parse(json);
    return Array.isArray(handlers) ? handlers.filter(isHandlerName) : [];
  } catch {
    return [];
  }
}

function isHandlerName(value: unknown): value is HandlerName {
  return typeof value === "object" && value !== null && "method" in value && "tool" in value;
}
