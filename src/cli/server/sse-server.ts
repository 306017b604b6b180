import { systemClock } from "../../client/clock.ts";

const patienceMs = 5_000;
/** The event that names the address for messages comes first. */
const mostBytes = 10_000;

/** Whether a server of the HTTP+SSE transport of 2024-11-05 is at that address: it begins a stream by naming another. */
export async function isSseServer(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<boolean> {
  const deadline = systemClock.deadline(patienceMs);
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
      if (text.length > mostBytes) return false;
    }
    return false;
  } catch {
    return false;
  } finally {
    deadline.clear();
  }
}
