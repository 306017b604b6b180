import { HoldfastError, type TaskContext, type Tasks } from "holdfast";
import type { AccessToken } from "holdfast/auth";

/** How your server gets its users' tokens for another service, such as a calendar. */
export interface CalendarTokens {
  /** Exchanges the token of a request (RFC 8693). */
  exchange(accessToken: string): Promise<string>;
  /** Uses a grant that the user once gave your server. */
  forUser(subject: string): Promise<string>;
}

/** For the option `credentials` of `oauthResource`. It runs for each request, so it only says how to get a token. */
export function calendarCredentials(tokens: CalendarTokens): (token: AccessToken) => () => Promise<string> {
  return ({ token }) =>
    () =>
      tokens.exchange(token);
}

/** A tool that books a room in the caller's name, after asking the caller. */
export function addBookRoom(
  tasks: Tasks,
  tokens: CalendarTokens,
  book: (token: string) => Promise<string>,
): void {
  tasks.tool("book_room", { requires: ["elicitation"] }, async (_args, task) => {
    const requestedSchema = { type: "object" as const, properties: {} };
    const { action } = await task.elicit("agree", { message: "Book the room?", requestedSchema });
    if (action !== "accept") return { content: [{ type: "text", text: "not booked" }] };
    const room = await task.step("book", async () => book(await calendarToken(task, tokens)));
    return { content: [{ type: "text", text: `booked ${room}` }] };
  });
}

async function calendarToken(task: TaskContext, tokens: CalendarTokens): Promise<string> {
  try {
    const exchange = (await task.credentials()) as () => Promise<string>;
    return await exchange();
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "no_credentials") throw error;
    // The server restarted after the call: the caller's token is gone, but the claims identify the caller.
    return tokens.forUser(String(task.caller.claims["sub"]));
  }
}
