import { systemClock } from "../../client/clock.ts";

const timeoutMs = 5_000;
/** How much to read: the endpoint event comes first. */
const maxBytes = 10_000;

/**
 * Whether the URL belongs to a server of the HTTP+SSE transport of 2024-11-05, whose stream begins with an
 * `endpoint` event.
 */
export async function isSseServer(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<boolean> {
  const deadline = systemClock.deadline(timeoutMs);
  try {
    const response = await fetch(url, {
      headers: { ...headers, accept: "text/event-stream" },
      redirect: "manual",
      signal: AbortSignal.any([signal, deadline.signal]),
    });
    if (!response.ok || response.body === null) return false;
    let text = "";
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (/^event: ?endpoint\r?$/m.test(text)) return true;
      if (text.length > maxBytes) return false;
    }
    return false;
  } catch {
    return false;
  } finally {
    deadline.clear();
  }
}
