import { createRoot } from "react-dom/client";
import { Calls } from "./calls.tsx";

/** Shows the calls of the conversation whose events are at this address. */
export function showCalls(place: Element, url: string): void {
  createRoot(place).render(<Calls url={url} />);
}
