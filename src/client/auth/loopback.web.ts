import { onlyInNode } from "../only-in-node.ts";
import type { Loopback as OfNode } from "./loopback.ts";

export const Loopback = {
  open: async (): Promise<OfNode> =>
    onlyInNode(
      "A log-in with the answer at a local port",
      "get a token with your page's own log-in, and pass it as token",
    ),
};
