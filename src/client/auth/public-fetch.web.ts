import { onlyInNode } from "../only-in-node.ts";
import type * as Node from "./public-fetch.ts";

export const publicFetch: typeof Node.publicFetch = async () =>
  onlyInNode('addresses: "public"', "leave it out: a page cannot see what a name resolves to");
