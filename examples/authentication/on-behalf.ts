import { HoldfastError, type TaskContext, type Tasks } from "holdfast";
import type { AccessToken } from "holdfast/auth";

/** How your server gets tokens of another service, such as a calendar, for its users. */
export interface CalendarTokens {
  /** In exchange for the token of a request (RFC 8693). */
  exchange(accessToken: string): Promise<string>;
  /** By a grant that the user gave your server once. */
  forUser(subject: string): Promise<string>;
}

/** For the option `credentials` of `oauthResource`. It runs for each request, so it only says how to get a token. */
export function calendarCredentials(tokens: CalendarTokens): (token: AccessToken) => () => Promise<string> {
  return ({ token }) =>
    () =>
      tokens.exchange(token);
}

/** A tool that books a room in the caller's name, once the caller has agreed. */
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
    // The server was restarted since the call: nobody has the caller's token any more, but the claims say who it is.
    return tokens.forUser(String(task.caller.claims["sub"]));
  }
}
